import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import type { Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { cleanText, parseAssignee, requireTitle } from "../../task-text.ts";
import { addReasonComment, resetBlockCount } from "../records/comments.ts";
import { workerMayLiveUntil } from "../runs/leaving-runs.ts";
import { promoteWaitingTasks } from "../runs/recompute.ts";
import {
  lockGraph,
  requireLiveRun,
  requireLockedTask,
  requireParentsDone,
  requireTask,
  toTask,
} from "../views/rows.ts";
import { moveTask, nextStatus, requireMove } from "./move-task.ts";

/** Resumes a task that is blocked, scheduled or in triage. A reason counts as an answer and resets the block counter. */
export function* unblockTask(transaction: BoardTransaction, taskId: string, reason = ""): Steps<Task> {
  requireRight(transaction.caller, "unblock");
  yield* lockGraph();
  yield* requireLiveRun(transaction.caller);
  const task = yield* requireLockedTask(taskId);
  requireMove("unblock", task);
  // A task is in triage because no person answered its question; an agent that unblocks it would continue the loop.
  if (task.status === "triage") requireRight(transaction.caller, "specify");
  const why = cleanText(reason, "reason").trim();
  if (why !== "") {
    yield* addReasonComment(transaction, taskId, why);
    yield* resetBlockCount(taskId);
  }
  const to = yield* nextStatus(task);
  const moved = yield* moveTask(transaction, task, "unblock", to, {
    event: "unblocked",
    payload: { status: to, ...(why !== "" && { reason: why }) },
    set: {
      consecutive_failures: 0,
      last_failure_error: null,
      block_sticky: 0,
      not_before: yield* workerMayLiveUntil(taskId),
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return toTask(moved);
}

/** A person has handled the task, so the detection of block loops starts over. */
const OUT_OF_TRIAGE = { triage_reason: null, block_kind: null, block_recurrences: 0 };

/** Makes a waiting task ready; refused while a parent is open or the task is held. */
export function* promoteTask(transaction: BoardTransaction, taskId: string, reason = ""): Steps<Task> {
  requireRight(transaction.caller, "promote");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("promote", task);
  yield* requireParentsDone(taskId);
  if (task.hold === 1) throw new AppError("task-move-refused", `${taskId} is held; release it first.`);
  const moved = yield* moveTask(transaction, task, "promote", "ready", {
    event: "promoted_manual",
    payload: { actor: transaction.actor, reason: cleanText(reason, "reason") },
    set: {
      block_sticky: 0,
      consecutive_failures: 0,
      not_before: yield* workerMayLiveUntil(taskId),
      phase: "work",
      ...(task.status === "triage" && OUT_OF_TRIAGE),
    },
  });
  return toTask(moved);
}

export interface Specification {
  readonly title?: string;
  readonly body?: string;
  readonly assignee?: string;
}

/** Moves a task out of triage with the given title, body and assignee. */
export function* specifyTask(
  transaction: BoardTransaction,
  taskId: string,
  specification: Specification,
): Steps<Task> {
  requireRight(transaction.caller, "specify");
  yield* lockGraph();
  const task = yield* requireLockedTask(taskId);
  requireMove("specify", task);
  const set = {
    ...(specification.title !== undefined && { title: requireTitle(specification.title) }),
    ...(specification.body !== undefined && { body: cleanText(specification.body, "body") }),
    ...(specification.assignee !== undefined && { assignee: parseAssignee(specification.assignee) }),
    ...OUT_OF_TRIAGE,
  };
  const payload = { changed_fields: Object.keys(specification) };
  yield* moveTask(transaction, task, "specify", "todo", { event: "specified", payload, set });
  yield* promoteWaitingTasks(transaction);
  return toTask(yield* requireTask(taskId));
}
