import { describe, expect, test } from "vitest";
import { ACTIONS, openOperatorStorm } from "../support/operator-storm.ts";
import { openOwnDatabase } from "../support/own-database.ts";
import { scale } from "../support/scale.ts";
import { describeWith } from "../support/services.ts";

const LIMIT = 7_200_000;
const WHAT =
  "actions of a user on running tasks take effect at once: never two live runs, and no process survives its run";

/** Each kind of action once, and then random ones. */
function chooseActions() {
  return Array.from({ length: scale.operatorActions }, (_, index) => {
    return ACTIONS[index < ACTIONS.length ? index : Math.floor(Math.random() * ACTIONS.length)] ?? "edit";
  });
}

async function storm(databaseUrl?: string): Promise<void> {
  await using board = await openOperatorStorm(databaseUrl);
  for (const action of chooseActions()) await board.act(action);
  const { samples, breaches } = await board.finish();
  expect(breaches).toEqual([]);
  expect(samples).toBeGreaterThan(scale.operatorActions);
}

describe.runIf(process.platform === "linux")("an operator on SQLite", () => {
  test(WHAT, () => storm(), LIMIT);
});

describeWith("postgres", "an operator on PostgreSQL", ({ url }) => {
  test(
    WHAT,
    async () => {
      await using database = await openOwnDatabase(url);
      await storm(database.url);
    },
    LIMIT,
  );
});
