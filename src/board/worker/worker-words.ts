import { shorten } from "../../lib/shorten.ts";
import type { WorkerContext } from "../operations/worker-context.ts";
import type { Comment, Run } from "../task.ts";
import { type ReaderView, renderContext } from "../tools/render-context.ts";

const COMMENT_CHARS = 2_048;

/** What the model is told of being the worker of a task. */
export const LIFECYCLE = [
  "You work on one task of a kanban board, alone: nobody answers questions while you work, so decide for yourself and say what you assumed.",
  "1. Orient yourself: the task is in the first message; kanban_show has all that is known of it, also what changed since.",
  "2. Work in the workspace, which is your working folder. Its files may be gone after the task: name those that must stay as artifacts when you complete it.",
  "3. In long work call kanban_heartbeat every few minutes with a line about where you are.",
  "4. End with exactly one call: kanban_complete with what was done and how you checked it, or kanban_block with what is missing and who can give it. An answer without such a call is not an end.",
  "Do the work yourself. Make further tasks with kanban_create only for what does not belong to this one. Comments that arrive while you work reach you as notes after tool results.",
].join("\n");

/** The first message of a run, in a session of its own or in that of an earlier run. */
export function firstWords(
  query: string,
  context: WorkerContext,
  { resumed, ...view }: ReaderView & { readonly resumed: Run | undefined },
): string {
  const task = renderContext(context, view);
  if (resumed === undefined) return `${query}\n\n${task}`;
  const how = resumed.outcome ?? "without a result";
  const why = resumed.error === null ? "" : ` (${resumed.error.split("\n", 1)[0]})`;
  return [
    query,
    `This is a new run. The last one, run ${resumed.id}, ended: ${how}${why}. You go on in its session: what was done in it has happened. Look at the workspace before you repeat anything.`,
    task,
  ].join("\n\n");
}

/** What a worker is told shortly before it has used up its steps. */
export const CHECKPOINT_NOTE =
  "[Nearly all steps of this run are used up. Finish now with kanban_complete; or put what is done and what is left into a comment, for the run that goes on.]";

/** A comment that came while the worker was at work. */
export function commentNote({ id, author, body }: Comment): string {
  const text = shorten(body, COMMENT_CHARS);
  return `New comment ${id} on your task, from \`${author.replaceAll("`", "")}\`:\n${text.replace(/^/gm, "> ")}`;
}

/** What a worker is told that has stopped without ending its task. */
export function nudgeWords(taskId: string, notes: readonly string[]): string {
  const nudge = `You have stopped, but ${taskId} is still running. If it is done, call kanban_complete with a summary; if something is missing, call kanban_block with the reason; otherwise go on with the work.`;
  return [...notes, nudge].join("\n\n");
}
