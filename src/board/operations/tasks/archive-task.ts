import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { all, first, run, type Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { describeStatus } from "../../transitions.ts";
import { uncountLeavingRuns, workerMayLiveUntil } from "../runs/leaving-runs.ts";
import { promoteWaitingChildren } from "../runs/recompute.ts";
import { findOpenRun, lockGraph, requireLockedTask, type TaskRow, toTask } from "../views/rows.ts";
import { closeRun, moveTask, nextStatus, requireMove } from "./move-task.ts";

/** Archives a task in any status: ends its open run and unblocks its children. */
export function* archiveTask(transaction: BoardTransaction, taskId: string): Steps<Task> {
  requireRight(transaction.caller, "archive");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("archive", task);
  const open = yield* findOpenRun(taskId);
  if (open !== undefined)
    yield* closeRun(transaction, open, { outcome: "reclaimed", error: "archived", exitUnconfirmed: true });
  const payload =
    open === undefined ? {} : { run_id: open.id, worker_pid: open.worker_pid, host_id: open.host_id };
  const runId = open?.id ?? null;
  const moved = yield* moveTask(transaction, task, "archive", "archived", {
    event: "archived",
    runId,
    payload,
  });
  yield* promoteWaitingChildren(transaction, taskId);
  return toTask(moved);
}

/** Deletes an archived task with all its records; only a `purged` event remains. */
export function* purgeTask(transaction: BoardTransaction, taskId: string): Steps<void> {
  requireRight(transaction.caller, "purge");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  if (task.status !== "archived")
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(task.status)}; only archived tasks can be purged.`,
      { hint: `Archive it first: \`hermes kanban archive ${taskId}\`.` },
    );
  yield* uncountLeavingRuns(transaction, taskId);
  yield* run("delete from event where task_id = :taskId", { taskId });
  yield* run(RESERVE_RUN_IDS, { taskId });
  yield* run(
    "delete from attachment_part where content_key in (select content_key from attachment where task_id = :taskId)",
    { taskId },
  );
  yield* run("delete from task where id = :taskId", { taskId });
  transaction.recordEvent({ taskId: null, kind: "purged", payload: { task_id: taskId, title: task.title } });
}

/** Prevents reuse of deleted run ids: a stale reference must not point to a later run. */
const RESERVE_RUN_IDS = `
  update board set runs_purged_to = (select max(id) from run where task_id = :taskId)
   where runs_purged_to < (select max(id) from run where task_id = :taskId)`;

/** Reopens a done or archived task. Its descendants become invalid and wait for it; their runs are ended. */
export function* reopenTask(
  transaction: BoardTransaction,
  taskId: string,
): Steps<{ task: Task; stopped: readonly number[] }> {
  requireRight(transaction.caller, "reopen");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("reopen", task);
  const descendants = yield* all<TaskRow>(
    `with recursive after(id) as (
       select child_id from link where parent_id = :taskId
       union select l.child_id from link l join after on l.parent_id = after.id)
     select t.* from task t where t.id in (select id from after)
        and t.status in ('ready', 'review', 'running', 'done') order by t.seq {lock}`,
    { taskId },
  );
  const to = yield* nextStatus({ ...task, phase: "work" });
  const reopened = yield* moveTask(transaction, task, "reopen", to === "review" ? "ready" : to, {
    event: "status",
    payload: { status: to, reason: "reopened" },
    set: {
      completed_at: null,
      archived_at: null,
      phase: "work",
      // The reviewer who approved the task must not become its implementer.
      assignee: task.assignee === task.reviewer ? task.implementer : task.assignee,
      result: null,
      idempotency_key: (yield* isKeyTaken(task)) ? null : task.idempotency_key,
      not_before: yield* workerMayLiveUntil(taskId),
    },
  });
  const stopped: number[] = [];
  for (const descendant of descendants) {
    const open = yield* findOpenRun(descendant.id);
    if (open !== undefined) {
      const error = `${taskId} was reopened`;
      yield* closeRun(transaction, open, { outcome: "reclaimed", error, exitUnconfirmed: true });
      stopped.push(open.id);
    }
    yield* moveTask(transaction, descendant, "invalidate", "todo", {
      event: "descendant_invalidated",
      runId: open?.id ?? null,
      payload: { ancestor: taskId, prior_status: descendant.status, new_status: "todo" },
      set: {
        completed_at: null,
        result: null,
        phase: open?.source_status === "review" ? "review" : descendant.phase,
        not_before: yield* workerMayLiveUntil(descendant.id),
      },
    });
  }
  return { task: toTask(reopened), stopped };
}

/** Whether another task took the idempotency key while this task was archived. */
function* isKeyTaken({ id, idempotency_key: key }: TaskRow): Steps<boolean> {
  if (key === null) return false;
  const other = yield* first(
    "select id from task where idempotency_key = :key and archived_at is null and id <> :id",
    { key, id },
  );
  return other !== undefined;
}
