import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, run, type Steps } from "../../database/steps.ts";
import { CLOCK_MARGIN_MS } from "../../dispatcher/rules/run-lease.ts";
import { countersOf, updateTask } from "../tasks/move-task.ts";
import { findLockedTaskOf, type RunRow } from "../views/rows.ts";

/**
 * A run that has ended but whose processes are not confirmed to have exited (`closeRun`). It counts against the caps and keeps
 * its task and folder until the exit is confirmed (`confirmRunExit`) or its lease expires.
 */
export const IS_LEAVING = "r.ended_at is not null and r.lease_until > 0";

export interface LeavingRun extends RunRow {
  readonly now: number;
}

/** All leaving runs, on all hosts. */
export function* listLeavingRuns(): Steps<readonly LeavingRun[]> {
  return yield* all<LeavingRun>(
    `select r.*, hermes_now() as now from run r where ${IS_LEAVING} order by r.id`,
  );
}

/** Until when tasks wait for a leaving run: its task, its children, which may use its files, and users of its folder or branch. */
export function* findWaitingForLeaving(taskId?: string): Steps<ReadonlyMap<string, number>> {
  const rows = yield* all<{ id: string; until: number }>(
    `with leaving as (
       select r.task_id, r.lease_until, o.workspace_kind, o.workspace_path, o.branch_name
         from run r join task o on o.id = r.task_id where ${IS_LEAVING})
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

/** Records that all processes of a run have exited: the run no longer counts, and its task no longer waits for it. */
export function* confirmRunExit(
  transaction: BoardTransaction,
  runId: number,
  facts: Readonly<Record<string, string | number | null>> = {},
): Steps<boolean> {
  requireRight(transaction.caller, "end-run");
  const task = yield* findLockedTaskOf(runId);
  if (task === undefined) return false; // purged in the meantime
  const leaving = yield* first<RunRow>(`select r.* from run r where r.id = :runId and ${IS_LEAVING} {lock}`, {
    runId,
  });
  if (leaving === undefined) return false;
  yield* run("update run set lease_until = 0 where id = :runId", { runId });
  transaction.count(countersOf(leaving), -1);
  // A later time is a different pause, such as the retry delay after a failure.
  if (task.not_before === leaving.lease_until + CLOCK_MARGIN_MS)
    yield* updateTask(task, { not_before: yield* workerMayLiveUntil(task.id) });
  transaction.recordEvent({ taskId: task.id, runId, kind: "worker_ended", payload: facts });
  return true;
}

/** Uncounts the leaving runs of a task that is deleted; throws `task-running` while one of its workers may be alive. */
export function* uncountLeavingRuns(transaction: BoardTransaction, taskId: string): Steps<void> {
  const runs = yield* all<LeavingRun>(
    `select r.*, hermes_now() as now from run r where r.task_id = :taskId and ${IS_LEAVING} {lock}`,
    { taskId },
  );
  for (const leaving of runs) {
    if (leaving.lease_until + CLOCK_MARGIN_MS > leaving.now)
      throw new AppError("task-running", `The worker of ${taskId} has not exited yet.`, {
        hint: "Try again in a few seconds.",
      });
    transaction.count(countersOf(leaving), -1);
  }
}

/** Until when a worker of a leaving run may be alive, or null; the task is not claimable before that time. */
export function* workerMayLiveUntil(taskId: string): Steps<number | null> {
  const row = yield* first<{ quiet: number }>(
    `select quiet from (
       select max(lease_until) + ${CLOCK_MARGIN_MS} as quiet from run
        where task_id = :taskId and ended_at is not null and lease_until > 0
     ) as last_of_it where quiet > hermes_now()`,
    { taskId },
  );
  return row?.quiet ?? null;
}
