import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { openMemoryDatabase } from "./memory-database.ts";
import { replayHistory, scriptOf } from "./replay-history.ts";
import { type HistoryResult, runHistory } from "./run-history.ts";
import { SEEDED_BUGS, type SeededBugName } from "./seeded-bugs.ts";
import { ruleOf, shrinkHistory } from "./shrink-history.ts";
import type { Wraps } from "./simulated-dispatchers.ts";

const BUG_HISTORIES = 3_000;
const MINUTES = 60_000;

describe("the simulation of boards", async () => {
  const memory = await openMemoryDatabase();
  afterAll(() => memory[Symbol.dispose]());

  async function findFailure(wraps: Wraps): Promise<HistoryResult> {
    for (let seed = 1; seed <= BUG_HISTORIES; seed++) {
      const result = await runHistory(memory, { seed, wraps });
      if (result.breach !== undefined) return result;
    }
    return expect.fail(`no breach in ${BUG_HISTORIES} histories`);
  }

  it("a history can be repeated from its seed and from its actions", async () => {
    const first = await runHistory(memory, { seed: 7 });
    const again = await runHistory(memory, { seed: 7 });
    const replayed = await runHistory(memory, { seed: 7, actions: first.actions });
    expect(again).toEqual(first);
    expect(replayed).toEqual(first);
    expect(first.transactions).toBeGreaterThan(50);
  });

  for (const bug of Object.keys(SEEDED_BUGS) as SeededBugName[]) {
    it(
      `finds the bug "${bug}" and prints a small script that reproduces it`,
      async () => {
        const { wraps, expectedBreach } = SEEDED_BUGS[bug];
        const failure = await findFailure(wraps);
        expect(failure.breach).toMatch(expectedBreach);
        const small = await shrinkHistory(failure, {
          run: (plan) => runHistory(memory, { ...plan, wraps }),
          attempts: 600,
        });
        expect(ruleOf(small)).toBe(ruleOf(failure));
        expect(small.actions.length).toBeLessThan(Math.max(2, failure.actions.length));
        const printed = await runScript(scriptOf(small, bug));
        expect(printed).toBe(small.breach);
        expect((await replayHistory({ seed: small.seed, actions: small.actions })).breach).toBeUndefined();
      },
      10 * MINUTES,
    );
  }

  it(
    "all tasks settle, whichever actor dies at any step of a history, before or after its transaction",
    async () => {
      for (const seed of [3, 11]) {
        const { actions } = await runHistory(memory, { seed });
        const disturbed = actions.slice(0, actions.indexOf("heal"));
        const goActions = disturbed.flatMap((action, at) =>
          action.startsWith("go ") ? [{ action, at }] : [],
        );
        expect(goActions.length).toBeGreaterThan(50);
        for (const { action, at } of goActions) {
          for (const crash of ["crash-before", "crash-after"]) {
            const last = action.replace("go", crash);
            const result = await runHistory(memory, {
              seed,
              actions: [...disturbed.slice(0, at), last],
              thenHeal: true,
            });
            if (result.breach !== undefined) expect.fail(`${result.breach}\n${scriptOf(result)}`);
          }
        }
      }
    },
    10 * MINUTES,
  );
});

/** Runs a printed reproduction script, as a developer who copies it from a test log would. */
async function runScript(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--eval", script]);
  return stdout.trimEnd();
}
