import { normaliseError } from "../normalise-error.ts";
import { FRESH_START_EVENT } from "../operations/tasks/retry-task.ts";
import { type BoardEvent, RUN_OUTCOMES, type Run } from "../task.ts";

/** Outcomes after which the next run starts a new session, because the work of the old one is finished. */
const FINISHED: ReadonlySet<string | null> = new Set(["completed", "review_requested", "changes_requested"]);

/** The last unfinished run of this profile and phase; undefined after a fresh-start request or two equal failures. */
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
  const wantsFreshStart = events.some(
    ({ kind, created_at }) => kind === FRESH_START_EVENT && created_at >= (before.ended_at ?? 0),
  );
  return wantsFreshStart || isSameFailure(before, earlier) ? undefined : before;
}

function isSameFailure(last: Run, earlier: Run | undefined): boolean {
  const { outcome, error, session_id } = last;
  if (outcome === null || !RUN_OUTCOMES[outcome].failure) return false;
  return earlier?.session_id === session_id && summarise(earlier.error) === summarise(error);
}

/** The first line of an error and its last output lines; the output in between differs in a resumed session. */
function summarise(error: string | null): string {
  const lines = (error ?? "").split("\n").filter((line) => line.trim() !== "");
  const last = lines.slice(1).slice(-LAST_LINES);
  return [...lines.slice(0, 1), ...last].map(normaliseError).join("\n");
}

const LAST_LINES = 3;
