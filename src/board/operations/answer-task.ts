import { AppError } from "../../lib/errors.ts";
import type { Change } from "../change.ts";
import type { Steps } from "../database/steps.ts";
import type { Task } from "../task.ts";
import { requireText } from "../task-text.ts";
import { requireTask, requireTaskToChange, toTask } from "./load.ts";
import { unblockTask } from "./manage.ts";
import { addComment } from "./notes.ts";

/** Comments on a task and, if it waits for an answer, brings it back in the same transaction. */
export function* answerTask(change: Change, taskId: string, text: string): Steps<Task> {
  const answer = requireText(text, "answer");
  const { status } = yield* requireTask(taskId);
  if (status === "blocked" || status === "triage") return yield* unblockTask(change, taskId, answer);
  if (status === "done" || status === "archived")
    throw new AppError("task-move-refused", `${taskId} is ${status} and waits for no answer.`, {
      hint: `Take it up again with \`hermes kanban reopen ${taskId}\`, or add a comment.`,
    });
  yield* addComment(change, taskId, answer);
  return toTask(yield* requireTaskToChange(taskId));
}
