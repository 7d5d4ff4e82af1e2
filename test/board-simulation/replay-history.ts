import { openMemoryDatabase } from "./memory-database.ts";
import { type HistoryResult, runHistory } from "./run-history.ts";
import { SEEDED_BUGS, type SeededBugName } from "./seeded-bugs.ts";

export interface Replay {
  readonly seed: number;
  readonly actions: readonly string[];
  readonly bug?: SeededBugName;
}

/** Repeats a history from its actions; the result contains the breach, if any. */
export async function replayHistory({ seed, actions, bug }: Replay): Promise<HistoryResult> {
  using memory = await openMemoryDatabase();
  return await runHistory(memory, { seed, actions, ...(bug && { wraps: SEEDED_BUGS[bug].wraps }) });
}

/** A script that repeats a failing history; run it with `npx tsx --eval` from the root of the project. */
export function scriptOf(
  { seed, actions }: Pick<HistoryResult, "seed" | "actions">,
  bug?: SeededBugName,
): string {
  const replay: Replay = { seed, ...(bug && { bug }), actions };
  return `import("./test/board-simulation/replay-history.ts")
  .then(({ replayHistory }) => replayHistory(${JSON.stringify(replay, null, 2)}))
  .then(({ breach }) => console.log(breach));`;
}
