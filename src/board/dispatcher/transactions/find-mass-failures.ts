import { all, type Steps } from "../../database/steps.ts";
import { normaliseError } from "../../normalise-error.ts";
import { FAILURE_EVENTS, VANISHED } from "../rules/run-ending.ts";

const WITHIN_MS = 60_000; // the default interval between passes
const LOOK_BACK = 500; // runs
const MANY = 3;

/** Tasks that wait for a retry although several tasks have just failed with the same error. */
export interface MassFailure {
  readonly tasks: readonly string[];
  readonly error: string;
}

/**
 * Groups tasks that have failed at about the same time with the same error: they share a cause, and retries would fail
 * again. Excludes tasks with their own `max_retries`, tasks that a person has retried since, and workers that were killed,
 * because a kill does not reveal its cause.
 */
export function* findMassFailures(): Steps<readonly MassFailure[]> {
  // SQLite scans the left side of a cross join first: here the few recent runs instead of all ready tasks.
  const rows = yield* all<{ task_id: string; error: string | null; payload: string | null }>(
    `select r.task_id, r.error, f.payload from run r cross join task t
       left join event f on f.run_id = r.id and f.kind in (${FAILURE_EVENTS})
      where t.id = r.task_id and r.id > (select coalesce(max(id), 0) from run) - ${LOOK_BACK}
        and r.outcome = 'crashed' and r.ended_at > hermes_now() - ${WITHIN_MS}
        and t.status = 'ready' and t.max_retries is null
        and r.id = (select max(l.id) from run l where l.task_id = t.id)
        and not exists (select 1 from event e
                         where e.task_id = t.id and e.kind = 'blocked' and e.created_at >= r.ended_at)
      order by r.id`,
  );
  const alike = new Map<string, { tasks: string[]; error: string }>();
  for (const { task_id: id, error, payload } of rows) {
    if (error === VANISHED || wasKilled(payload)) continue;
    const key = normaliseError(error ?? "");
    const group = alike.get(key) ?? { tasks: [], error: error ?? "" };
    group.tasks.push(id);
    alike.set(key, group);
  }
  return [...alike.values()].filter(({ tasks }) => tasks.length >= MANY);
}

const KILLED = 128 + 9; // the exit code that a shell reports for SIGKILL

function wasKilled(payload: string | null): boolean {
  const { signal, exit_code: code } = JSON.parse(payload ?? "{}") as {
    signal?: unknown;
    exit_code?: unknown;
  };
  return signal !== undefined || code === KILLED;
}
