import type { Approval } from "../../approvals/approval.ts";
import { formatClarification } from "../../approvals/clarification.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { WorkerContext } from "../operations/views/worker-context.ts";
import type { Comment, Run } from "../task.ts";
import { type ReaderPaths, renderContext } from "../tools/render-context.ts";

const COMMENT_CHARS = 2_048;

/** The part of the system prompt that explains the work on a task. */
export const WORKER_INSTRUCTIONS = [
  "You work on one task of a kanban board, alone: nobody answers questions while you work, so make your own decisions and state your assumptions. If only the user can decide, ask with clarify: that ends your run, and the next one gets the answer.",
  "1. Orient yourself: the task is in the first message; kanban_show returns everything that is known about it, including later changes.",
  "2. Work in the workspace, which is your working folder. Its files may be removed after the task: when you complete it, name the files to keep as artifacts.",
  "3. During long work, call kanban_heartbeat every few minutes with one line about your progress.",
  "4. End with exactly one call: kanban_complete with what was done and how you checked it, or kanban_block with what is missing and who can provide it. An answer without such a call does not end the task.",
  "Do the work yourself. Create further tasks with kanban_create only for work that does not belong to this task. Comments that arrive while you work reach you as notes after tool results.",
].join("\n");

/** The first message of a run, in a new session or in the resumed session of an earlier run. */
export function renderFirstMessage(
  query: string,
  context: WorkerContext,
  { resumed, ...view }: ReaderPaths & { readonly resumed: Run | undefined },
): string {
  const task = renderContext(context, view);
  if (resumed === undefined) return `${query}\n\n${task}`;
  const outcome = resumed.outcome ?? "without a result";
  const why = resumed.error === null ? "" : ` (${resumed.error.split("\n", 1)[0]})`;
  return [
    query,
    `This is a new run. The last one, run ${resumed.id}, ended: ${outcome}${why}. You continue its session, and the actions in that session took effect. Check the workspace before you repeat anything.`,
    task,
  ].join("\n\n");
}

/** The note to a worker that has nearly used up its steps. */
export const CHECKPOINT_NOTE =
  "[Nearly all steps of this run are used up. Finish now with kanban_complete, or write a comment about the finished and the remaining work for the next run.]";

/** The start of the note about a comment; its number follows. */
export const COMMENT_NOTE = "New comment ";

/** The note about a comment that arrived during the work. */
export function renderCommentNote({ id, author, body }: Comment): string {
  const text = shorten(body, COMMENT_CHARS);
  return `${COMMENT_NOTE}${id} on your task, from \`${author.replaceAll("`", "")}\`:\n${text.replace(/^/gm, "> ")}`;
}

/** The message to a worker that has stopped without ending its task. */
export function renderReminder(taskId: string, notes: readonly string[]): string {
  const nudge = `You have stopped, but ${taskId} is still running. If it is done, call kanban_complete with a summary; if something is missing, call kanban_block with the reason; otherwise continue the work.`;
  return [...notes, nudge].join("\n\n");
}

/** How much of a call a blocked task shows; `hermes approvals list` shows all. */
const COMMAND_CHARS = 500;

/** The block reason of a task whose worker needs an answer: approval for a call, or information. */
export function renderQuestion(approval: Approval, taskId: string): string {
  const { id, kind, tool, summary, reason, details } = approval;
  if (kind === "clarification") {
    const answer = (details.choices ?? []).length === 0 ? "TEXT" : "NUMBER-OR-TEXT";
    return `${formatClarification(approval)} Answer with \`hermes kanban answer ${taskId} ${answer}\`. Question ${id}.`;
  }
  const what = shorten(summary, COMMAND_CHARS);
  return `May the worker run this? ${tool}: ${what} (${reason}) Answer with \`hermes kanban answer ${taskId} yes\` or \`"no, REASON"\`. Approval ${id}.`;
}
