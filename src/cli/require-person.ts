import { AppError } from "../lib/errors.ts";
import type { CommandContext } from "./context.ts";

/** Throws in the shell of a worker, for what belongs to people and asks the board for no right of its own. */
export function requirePerson({ context }: { readonly context: Pick<CommandContext, "variables"> }): void {
  const { HERMES_KANBAN_TASK: taskId } = context.variables;
  if (!taskId) return;
  throw new AppError("board-action-denied", `The run of ${taskId} may not do this; it is for people.`, {
    hint: "This shell belongs to a run of that task. Elsewhere, unset HERMES_KANBAN_TASK.",
  });
}
