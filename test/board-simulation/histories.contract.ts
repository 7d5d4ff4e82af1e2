import { afterAll, expect, it } from "vitest";
import { scale } from "../support/scale.ts";
import { FAULTS, type Fault } from "./faults.ts";
import { openMemoryDatabase } from "./memory-database.ts";
import { scriptOf } from "./replay-history.ts";
import { runHistory } from "./run-history.ts";
import { shrinkHistory } from "./shrink-history.ts";

const SHARES = 4;
const MINUTES = 60_000;

/** One share of all histories. Each share has its own test file, so that shares run in parallel; the seeds differ. */
export async function historiesContract(share: 1 | 2 | 3 | 4): Promise<void> {
  const memory = await openMemoryDatabase();
  afterAll(() => memory[Symbol.dispose]());
  const happened = new Map<Fault, number>();

  it(
    "G1, G5, G12, G16: no history has two workers on a task, an exceeded cap, a lost task, a wrong counter, a missing outcome, or a task that waits without a reason after all faults have ended",
    async () => {
      for (let seed = share; seed <= scale.histories; seed += SHARES) {
        const result = await runHistory(memory, { seed });
        for (const [fault, times] of result.faults) happened.set(fault, (happened.get(fault) ?? 0) + times);
        if (result.breach === undefined) continue;
        const small = await shrinkHistory(result, {
          run: (plan) => runHistory(memory, plan),
          attempts: 1_000,
        });
        expect.fail(`${small.breach}\n${scriptOf(small)}`);
      }
    },
    20 * MINUTES,
  );

  it("every kind of fault took effect often in the histories", () => {
    const rare = FAULTS.filter((fault) => (happened.get(fault) ?? 0) < scale.histories / SHARES / 100);
    expect(rare).toEqual([]);
  });
}
