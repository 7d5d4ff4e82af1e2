import { all, type Steps } from "../../database/steps.ts";
import { failureWords } from "../../failure-words.ts";
import { FAILURE_EVENTS, VANISHED } from "../run-ending.ts";

const WITHIN_MS = 60_000; // a pass of the timer
const LOOK_BACK = 500; // runs
const MANY = 3;

/** Tasks that wait for their next attempt although others have just failed in the same way. */
export interface MassFailure {
  readonly tasks: readonly string[];
  readonly error: string;
}

/**
 * Failures of several tasks at about the same time that read alike: they have one cause, and each attempt would only
 * meet it again. A task's own number of attempts wins, and so does a person who has brought it back since. A worker that
 * was killed says nothing of why, so it is no such failure.
 */
export function* findMassFailures(): Steps<readonly MassFailure[]> {
  // SQLite begins with what is on the left of a cross join: few runs, instead of all tasks that are ready.
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
    const key = failureWords(error ?? "");
    const group = alike.get(key) ?? { tasks: [], error: error ?? "" };
    group.tasks.push(id);
    alike.set(key, group);
  }
  return [...alike.values()].filter(({ tasks }) => tasks.length >= MANY);
}

const KILLED = 128 + 9; // what a shell makes of a process that was killed

function wasKilled(payload: string | null): boolean {
  const { signal, exit_code: code } = JSON.parse(payload ?? "{}") as {
    signal?: unknown;
    exit_code?: unknown;
  };
  return signal !== undefined || code === KILLED;
}
