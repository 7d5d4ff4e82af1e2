import type { BoardTransaction } from "../../board-transaction.ts";
import { first, type Steps } from "../../database/steps.ts";
import { insertComment } from "../../operations/records/comments.ts";
import { moveTask, nextStatus } from "../../operations/tasks/move-task.ts";
import { findOpenRun, lockGraph, type RunRow, requireLockedTask } from "../../operations/views/rows.ts";

/** Extends the lease of a run with live processes, so that its task is not claimed; false if the run ended or was renewed. */
export function* deferReclaim(
  transaction: BoardTransaction,
  { id, task_id: taskId, lease_until: wasUntil }: RunRow,
  reason: string,
  ms: number,
): Steps<boolean> {
  const row = yield* first<{ lease_until: number }>(
    `update run set lease_until = hermes_now() + cast(:ms as bigint)
      where id = :id and ended_at is null and lease_until = :wasUntil returning lease_until`,
    { id, wasUntil, ms },
  );
  if (row === undefined) return false;
  transaction.recordEvent({
    taskId,
    runId: id,
    kind: "reclaim_deferred",
    payload: { reason, claim_expires_was: wasUntil, claim_expires_now: row.lease_until },
  });
  return true;
}

/** Returns a task that has status `running` but no open run to its queue; false if the task has changed since. */
export function* reconcileOrphan(transaction: BoardTransaction, taskId: string): Steps<boolean> {
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  if (task.status !== "running" || (yield* findOpenRun(taskId)) !== undefined) return false;
  const to = yield* nextStatus(task);
  const body = "This task had the status running but no open run. It was returned to the queue.";
  yield* insertComment(transaction, taskId, body);
  yield* moveTask(transaction, task, "reclaim", to, { event: "reconciled", payload: { retry_status: to } });
  return true;
}
