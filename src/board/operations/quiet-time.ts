import { first, type Steps } from "../database/steps.ts";
import { CLOCK_MARGIN_MS } from "../dispatcher/run-lease.ts";

/**
 * Until when a worker of the task may live whose run was ended by someone who has not seen it end; null when none does.
 * Whoever makes a task free to be claimed keeps it from others until then. A run that was seen to end has no lease left
 * (`closeRun`), and one that never had a supervisor has no worker either.
 */
export function* quietFrom(taskId: string): Steps<number | null> {
  const row = yield* first<{ quiet: number }>(
    `select quiet from (
       select max(lease_until) + ${CLOCK_MARGIN_MS} as quiet from run
        where task_id = :taskId and supervisor_pid is not null and ended_at is not null and lease_until > ended_at
     ) as last_of_it where quiet > hermes_now()`,
    { taskId },
  );
  return row?.quiet ?? null;
}
