import type { BoardTransaction } from "../../board-transaction.ts";
import { requireRight } from "../../caller.ts";
import { first, only, run, type Steps } from "../../database/steps.ts";
import type { Comment } from "../../task.ts";
import { requireText } from "../../task-text.ts";
import type { Leftovers } from "../../workspaces/measure-leftovers.ts";
import { requireLiveRun, requireLockedTask } from "../views/rows.ts";

/** Adds a comment; the author is always the caller. */
export function* addComment(transaction: BoardTransaction, taskId: string, body: string): Steps<Comment> {
  requireRight(transaction.caller, "comment");
  const text = requireText(body, "comment");
  yield* requireLockedTask(taskId); // so that comment ids of one task are in order
  yield* requireLiveRun(transaction.caller);
  const row = yield* insertComment(transaction, taskId, text);
  if (transaction.caller.kind !== "run" || transaction.caller.taskId !== taskId)
    yield* resetBlockCount(taskId);
  transaction.recordEvent({
    taskId,
    kind: "commented",
    payload: { author: transaction.actor, len: text.length },
  });
  return row;
}

/** Writes a comment without an event; this transaction has locked the task. */
export function* insertComment(transaction: BoardTransaction, taskId: string, body: string): Steps<Comment> {
  return yield* only<Comment>(
    "insert into comment (task_id, author, body, created_at) values (:taskId, :author, :body, hermes_now()) returning *",
    { taskId, author: transaction.actor, body },
  );
}

/** Resets the block counter after an answer: a later block is a new question. */
export function* resetBlockCount(taskId: string): Steps<void> {
  // Not through `updateTask`: `updated_at` measures how long the task has waited and must not change.
  const reset = "update task set block_recurrences = 0 where id = :taskId and block_recurrences > 0";
  yield* run(reset, { taskId });
}

/** Records the reason of a move as a comment; this transaction has locked the task. */
export function* addReasonComment(transaction: BoardTransaction, taskId: string, body: string): Steps<void> {
  yield* insertComment(transaction, taskId, body);
  const payload = { author: transaction.actor, len: body.length, is_reason: true };
  transaction.recordEvent({ taskId, kind: "commented", payload });
}

/** Records the files that were discarded with a workspace and where they are kept; false when the task no longer exists. */
export function* recordDiscarded(
  transaction: BoardTransaction,
  taskId: string,
  discarded: Leftovers & { readonly moved_to: string },
): Steps<boolean> {
  requireRight(transaction.caller, "maintain");
  const task = yield* first("select seq from task where id = :taskId {lock}", { taskId });
  if (task === undefined) return false;
  transaction.recordEvent({ taskId, kind: "workspace_discarded_content", payload: { ...discarded } });
  return true;
}
