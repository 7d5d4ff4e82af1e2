import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import type { Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { requireLockedTask } from "../views/rows.ts";
import { assignTask, editTask, type TaskEdit } from "./edit-task.ts";

export interface TaskChange extends TaskEdit {
  readonly assignee?: string | null;
  /** Refuses the change if the task was changed after this state of it; its `updated_at`. */
  readonly unchangedSince?: number;
}

/** Edits the fields of a task and assigns it, in one transaction. */
export function* changeTask(
  transaction: BoardTransaction,
  taskId: string,
  { assignee, unchangedSince, ...edit }: TaskChange,
): Steps<Task> {
  const { updated_at } = yield* requireLockedTask(taskId);
  if (unchangedSince !== undefined && updated_at !== unchangedSince)
    throw new AppError("task-changed", `${taskId} was changed in the meantime.`);
  if (assignee !== undefined) yield* assignTask(transaction, taskId, assignee);
  return yield* editTask(transaction, taskId, edit);
}
