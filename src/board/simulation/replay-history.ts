import { openMemoryDatabase } from "./memory-database.ts";
import { type HistoryResult, runHistory } from "./run-history.ts";
import { SEEDED_BUGS, type SeededBugName } from "./seeded-bugs.ts";

export interface Replay {
  readonly seed: number;
  readonly actions: readonly string[];
  readonly bug?: SeededBugName;
}

/** Repeats a history from its script; what it breaks is in the result. */
export async function replayHistory({ seed, actions, bug }: Replay): Promise<HistoryResult> {
  using memory = await openMemoryDatabase();
  return await runHistory(memory, { seed, actions, ...(bug && { wraps: SEEDED_BUGS[bug].wraps }) });
}

/** A failing history as a script that repeats it; run from the root of the project: `npx tsx --eval` with it. */
export function scriptOf(
  { seed, actions }: Pick<HistoryResult, "seed" | "actions">,
  bug?: SeededBugName,
): string {
  const replay: Replay = { seed, ...(bug && { bug }), actions };
  return `import("./src/board/simulation/replay-history.ts")
  .then(({ replayHistory }) => replayHistory(${JSON.stringify(replay, null, 2)}))
  .then(({ breach }) => console.log(breach));`;
}
