import { findOwnRun } from "../board/worker/own-run.ts";
import { AppError } from "../lib/errors.ts";
import type { CommandContext } from "./context.ts";

/** Throws in the shell of a worker, for what belongs to people and asks the board for no right of its own. */
export function requirePerson({ context }: { readonly context: Pick<CommandContext, "variables"> }): void {
  const run = findOwnRun((name) => context.variables[name]);
  if (run === undefined) return;
  throw new AppError("board-action-denied", `The run of ${run.taskId} may not do this; it is for people.`, {
    hint: "Finish your own task, or block it with a question to a person.",
  });
}
