import { AppError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";

/** Asks for confirmation; throws unless the user answers y or yes. `action` is the subject of the error message. */
export async function requireYes(
  { terminal, signal }: CommandContext,
  question: string,
  action: string,
): Promise<void> {
  const answer = await terminal.ask(`${question} [y/N] `, signal);
  if (answer === undefined) throw new AppError("confirmation-missing", `${action} needs confirmation.`);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new AppError("confirmation-missing", "Not confirmed; nothing was changed.");
}
