import { findOwnRun } from "../board/worker/find-own-run.ts";
import { AppError } from "../lib/errors.ts";
import type { CommandContext } from "./context.ts";

/** Set by the channel for every command of an agent. */
const COMMAND_MARK = "HERMES_COMMAND_ID";

/** Throws in a command that an agent runs, because an agent must not answer its own questions. */
export function requirePerson({ variables }: CommandContext): void {
  if (variables[COMMAND_MARK] === undefined && findOwnRun((name) => variables[name]) === undefined) return;
  throw new AppError("approval-denied", "Only a person may do this, not a command that Hermes runs.");
}

/** Wraps an action so that it is refused in the shell of a worker. Needed where the board does not refuse it. */
export function byPerson<Words extends unknown[]>(
  { variables }: CommandContext,
  action: (...words: Words) => Promise<void>,
): (...words: Words) => Promise<void> {
  return async (...words) => {
    if (findOwnRun((name) => variables[name]) === undefined) return action(...words);
    throw new AppError("board-action-denied", "The worker of a task may not do this; only a person may.", {
      hint: "Finish your own task, or block it with a question to a person.",
    });
  };
}
