import { failureWords } from "../failure-words.ts";
import { FRESH_START } from "../operations/retry-task.ts";
import { type BoardEvent, RUN_OUTCOMES, type Run } from "../task.ts";

/** Ends after which the next run begins afresh: what was to be done in that session is done. */
const FINISHED: ReadonlySet<string | null> = new Set(["completed", "review_requested", "changes_requested"]);

/**
 * The run whose session goes on in this one: the last of the same profile and phase that did not finish its work. There
 * is none when a person has asked for a fresh start since then, or when that session has failed twice in the same way.
 */
export function findRunToResume(
  { runs, events }: { readonly runs: readonly Run[]; readonly events: readonly BoardEvent[] },
  runId: number,
): Run | undefined {
  const own = runs.find(({ id }) => id === runId);
  const [before, earlier] = runs
    .filter(({ id, session_id }) => id < runId && session_id !== null)
    .toReversed();
  if (own === undefined || before === undefined || FINISHED.has(before.outcome)) return undefined;
  if (before.profile !== own.profile || before.source_status !== own.source_status) return undefined;
  const isAskedFor = events.some(
    ({ kind, created_at }) => kind === FRESH_START && created_at >= (before.ended_at ?? 0),
  );
  return isAskedFor || isSameFailure(before, earlier) ? undefined : before;
}

function isSameFailure(last: Run, earlier: Run | undefined): boolean {
  const { outcome, error, session_id } = last;
  if (outcome === null || !RUN_OUTCOMES[outcome].failure) return false;
  return earlier?.session_id === session_id && wordsOf(earlier.error) === wordsOf(error);
}

/** How it ended and its last words. What the worker had printed before differs in a session that was resumed. */
function wordsOf(error: string | null): string {
  const lines = (error ?? "").split("\n").filter((line) => line.trim() !== "");
  const last = lines.slice(1).slice(-LAST_LINES);
  return [...lines.slice(0, 1), ...last].map(failureWords).join("\n");
}

const LAST_LINES = 3;
