import { first, type Steps } from "../database/steps.ts";
import { CLOCK_MARGIN_MS } from "../dispatcher/run-lease.ts";

/**
 * Until when a worker of the task may live whose run was ended by someone who has not seen it end; null when none does.
 * Whoever makes a task free to be claimed keeps it from others until then. A run that was seen to end has no lease left.
 */
export function* quietFrom(taskId: string): Steps<number | null> {
  const row = yield* first<{ quiet: number }>(
    `select quiet from (
       select max(lease_until) + ${CLOCK_MARGIN_MS} as quiet from run
        where task_id = :taskId and ended_at is not null and lease_until > 0
     ) as last_of_it where quiet > hermes_now()`,
    { taskId },
  );
  return row?.quiet ?? null;
}
