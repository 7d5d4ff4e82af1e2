import { all, first, run, type Steps } from "../../database/steps.ts";
import { type RunRow, requireTaskToChange } from "../../operations/load.ts";
import { updateTask } from "../../operations/move-task.ts";
import { quietFrom } from "../../operations/quiet-time.ts";
import { CLOCK_MARGIN_MS } from "../run-lease.ts";

const UNSEEN = "r.supervisor_pid is not null and r.ended_at is not null and r.lease_until > r.ended_at";

/** Runs of this host that are over and for whose workers, which nobody has seen end, ready tasks wait. */
export function* findUnseen(hostId: string): Steps<readonly RunRow[]> {
  return yield* all<RunRow>(
    `select r.* from task t join run r on r.task_id = t.id
      where t.status = 'ready' and t.not_before > hermes_now() and r.host_id = :hostId and ${UNSEEN}
        and r.lease_until > hermes_now() - ${CLOCK_MARGIN_MS} order by r.id`,
    { hostId },
  );
}

/** Records that nothing of a run lives any more; its task waits for it no longer. */
export function* seeEnd({ id, task_id: taskId }: RunRow): Steps<void> {
  const task = yield* requireTaskToChange(taskId);
  const unseen = yield* first<RunRow>(`select r.* from run r where r.id = :id and ${UNSEEN} {lock}`, { id });
  if (unseen === undefined) return;
  yield* run("update run set lease_until = 0 where id = :id", { id });
  // A later time is another pause, such as that after a failure.
  if (task.not_before === unseen.lease_until + CLOCK_MARGIN_MS)
    yield* updateTask(task, { not_before: yield* quietFrom(taskId) });
}
