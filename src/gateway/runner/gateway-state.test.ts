import { expect, test } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { openGatewayDatabase } from "../store/gateway-database.ts";
import { createGatewayState } from "./gateway-state.ts";

test("K2: five starts within two minutes do not wait; each further start waits twice as long, at most five minutes", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock();
  using database = await openGatewayDatabase(folder.file("gateway.sqlite"), clock, neverAborted);
  const state = createGatewayState(database);
  const waits: number[] = [];
  for (let start = 0; start < 14; start++) waits.push(await state.recordStart(neverAborted));
  expect(waits.slice(0, 8)).toEqual([0, 0, 0, 0, 0, 10_000, 20_000, 40_000]);
  expect(waits.at(-1)).toBe(300_000);
  await clock.advance(120_001);
  expect(await state.recordStart(neverAborted)).toBe(0);
});
