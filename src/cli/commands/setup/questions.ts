import { AppError } from "../../../lib/errors.ts";
import type { CommandContext } from "../../context.ts";
import { cutText } from "../../terminal/fit-text.ts";

/** One answer to a question with numbered answers. */
export interface Choice<Value> {
  readonly label: string;
  readonly value: Value;
}

/** Prints rows with numbers from 1. */
export function printRows({ terminal }: CommandContext, labels: readonly string[]): void {
  const width = (terminal.noteColumns ?? 80) - 1;
  labels.forEach((label, index) => {
    terminal.note(cutText(`${String(index + 1).padStart(4)}  ${label}`, width));
  });
}

/** Asks for one of several rows by its number. Enter alone chooses the row at `preset`. */
export async function chooseRow<Value>(
  context: CommandContext,
  question: string,
  choices: readonly Choice<Value>[],
  preset: number,
): Promise<Value> {
  const { terminal } = context;
  terminal.note(`\n${question}\n`);
  printRows(
    context,
    choices.map(({ label }) => label),
  );
  for (;;) {
    const typed = await askText(context, `Number [${preset + 1}]: `);
    const chosen = choices[typed === "" ? preset : parseNumber(typed) - 1];
    if (chosen !== undefined) return chosen.value;
    terminal.note(`Give a number from 1 to ${choices.length}.`);
  }
}

/** Asks for one line. Throws if the input is closed. */
export async function askText({ terminal, signal }: CommandContext, question: string): Promise<string> {
  const typed = await terminal.ask(question, signal);
  if (typed === undefined) throw new AppError("interrupted", "The input was closed; nothing was changed.");
  return typed.trim();
}

/** Asks for yes or no. Enter alone means yes. */
export async function askYes(context: CommandContext, question: string): Promise<boolean> {
  for (;;) {
    const typed = await askText(context, `${question} [Y/n] `);
    if (/^(y|yes)?$/i.test(typed)) return true;
    if (/^(n|no)$/i.test(typed)) return false;
  }
}

/** Parses a whole number; NaN for any other text. */
export function parseNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}
