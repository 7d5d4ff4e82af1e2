import type { Approval } from "../../../approvals/approval.ts";
import { DECIDE_YOURSELF, numberChoices, parseClarification } from "../../../approvals/clarification.ts";
import { AppError } from "../../../lib/errors.ts";
import { quoteLine } from "../../terminal/quote-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** Limits how often the prompt is repeated after end of input (Ctrl-D), which a closed terminal reports forever. */
const MAX_ENDS = 3;

/** Asks the person at this terminal for the answer to a clarification; undefined if the input has ended. */
export async function askForAnswer(
  terminal: Terminal,
  { id, details }: Approval,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { choices: offered = [] } = details;
  const choices = numberChoices({ choices: [...offered, "Decide yourself."] });
  const counted = { ...details, choices: offered.length === 0 ? [] : [...offered, DECIDE_YOURSELF] };
  terminal.note(choices.map((choice) => `  ${quoteLine(choice)}`).join("\n"));
  await terminal.discardTyped(signal);
  const numbers = details.several ? "Numbers such as 1 2" : "A number";
  for (let ends = 0; ends < MAX_ENDS; ) {
    const text = (await terminal.ask(`  ${numbers}, or your own answer: `, signal))?.trim();
    if (text === undefined) {
      ends++;
      terminal.note("\n  That is not an answer. Ctrl-C stops the turn.");
    } else if (text === `${choices.length}`) return DECIDE_YOURSELF;
    else if (text !== "")
      try {
        return parseClarification(text, counted);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        terminal.note(`  ${error.message}`);
      }
  }
  terminal.note(`  The question waits: hermes approvals answer ${id} TEXT`);
  return undefined;
}
