import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import type { Steps } from "../../database/steps.ts";
import type { Task } from "../../task.ts";
import { requireText } from "../../task-text.ts";
import { describeStatus } from "../../transitions.ts";
import { addComment } from "../records/comments.ts";
import { requireLockedTask, requireTask, toTask } from "../views/rows.ts";
import { unblockTask } from "./unblock-task.ts";

/** Adds a comment to a task and, if the task waits for an answer, unblocks it in the same transaction. */
export function* answerTask(transaction: BoardTransaction, taskId: string, text: string): Steps<Task> {
  const answer = requireText(text, "answer");
  const { status } = yield* requireTask(taskId);
  if (status === "blocked" || status === "triage") return yield* unblockTask(transaction, taskId, answer);
  if (status === "done" || status === "archived")
    throw new AppError(
      "task-move-refused",
      `${taskId} is ${describeStatus(status)} and does not wait for an answer.`,
      { hint: `Reopen it with \`hermes kanban reopen ${taskId}\`, or add a comment.` },
    );
  yield* addComment(transaction, taskId, answer);
  return toTask(yield* requireLockedTask(taskId));
}
