import { AppError } from "../../lib/errors.ts";
import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { all, first, run, type Steps } from "../database/steps.ts";
import { CLOCK_MARGIN_MS } from "../dispatcher/run-lease.ts";
import { type RunRow, requireTaskToChange } from "./load.ts";
import { countersOf, updateTask } from "./move-task.ts";
import { quietFrom } from "./quiet-time.ts";

/**
 * A run that is over although nobody has seen its processes end (`closeRun`). It still counts against the caps, and its
 * task and its folder still belong to it, until someone has seen that nothing of it lives or its lease is over.
 */
export const LEAVING = "r.ended_at is not null and r.lease_until > 0";

export interface LeavingRun extends RunRow {
  readonly now: number;
}

/** All runs that are over and not yet gone, on whatever host. */
export function* findLeaving(): Steps<readonly LeavingRun[]> {
  return yield* all<LeavingRun>(`select r.*, hermes_now() as now from run r where ${LEAVING} order by r.id`);
}

/**
 * Ready tasks that must wait for such a run, and until when at most: the one that it was of, those that waited for that
 * one and may have its files, and those that name the same folder.
 */
export function* findTaken(taskId?: string): Steps<ReadonlyMap<string, number>> {
  const rows = yield* all<{ id: string; until: number }>(
    `with leaving as (
       select r.task_id, r.lease_until, o.workspace_kind, o.workspace_path, o.branch_name
         from run r join task o on o.id = r.task_id where ${LEAVING})
     select id, max(lease_until) + ${CLOCK_MARGIN_MS} as until from (
       select task_id as id, lease_until from leaving
       union all select l.child_id, v.lease_until from leaving v join link l on l.parent_id = v.task_id
       union all select t.id, v.lease_until from leaving v join task t on t.status = 'ready'
          and t.workspace_kind = v.workspace_kind and coalesce(t.workspace_path, '') = coalesce(v.workspace_path, '')
          and (v.workspace_kind = 'dir' or t.branch_name = v.branch_name) where v.workspace_kind <> 'scratch'
     ) as taken ${taskId === undefined ? "" : "where id = :taskId"} group by id`,
    taskId === undefined ? {} : { taskId },
  );
  return new Map(rows.map(({ id, until }) => [id, until]));
}

/** Records that nothing of a run lives any more: it no longer counts, and its task waits for it no longer. */
export function* seeEnd(
  change: Change,
  runId: number,
  facts: Readonly<Record<string, string | number | null>> = {},
): Steps<boolean> {
  requireRight(change.caller, "end-run");
  const known = yield* first<{ task_id: string }>("select task_id from run where id = :runId", { runId });
  if (known === undefined) return false; // purged meanwhile
  const task = yield* requireTaskToChange(known.task_id);
  const leaving = yield* first<RunRow>(`select r.* from run r where r.id = :runId and ${LEAVING} {lock}`, {
    runId,
  });
  if (leaving === undefined) return false;
  yield* run("update run set lease_until = 0 where id = :runId", { runId });
  change.count(countersOf(leaving), -1);
  // A later time is another pause, such as that after a failure.
  if (task.not_before === leaving.lease_until + CLOCK_MARGIN_MS)
    yield* updateTask(task, { not_before: yield* quietFrom(task.id) });
  change.tell({ taskId: task.id, runId, kind: "worker_ended", payload: facts });
  return true;
}

/** Lets go of the runs of a task that is to be deleted; throws while a worker of it may live. */
export function* letGo(change: Change, taskId: string): Steps<void> {
  const runs = yield* all<LeavingRun>(
    `select r.*, hermes_now() as now from run r where r.task_id = :taskId and ${LEAVING} {lock}`,
    { taskId },
  );
  for (const leaving of runs) {
    if (leaving.lease_until + CLOCK_MARGIN_MS > leaving.now)
      throw new AppError("task-running", `The worker of ${taskId} has not ended yet.`, {
        hint: "Try again in a few seconds.",
      });
    change.count(countersOf(leaving), -1);
  }
}
