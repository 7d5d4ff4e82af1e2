import type { Run } from "../task.ts";

/** Ends after which the next run begins afresh: what was to be done in that session is done. */
const FINISHED: ReadonlySet<string | null> = new Set(["completed", "review_requested", "changes_requested"]);

/** The run whose session goes on in this one: the last of the same profile and phase that did not finish its work. */
export function findRunToResume(runs: readonly Run[], runId: number): Run | undefined {
  const own = runs.find(({ id }) => id === runId);
  const before = runs.filter(({ id, session_id }) => id < runId && session_id !== null).at(-1);
  if (own === undefined || before === undefined || FINISHED.has(before.outcome)) return undefined;
  return before.profile === own.profile && before.source_status === own.source_status ? before : undefined;
}
