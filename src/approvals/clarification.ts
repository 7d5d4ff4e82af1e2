import { AppError } from "../lib/errors.ts";
import type { Approval, ApprovalDetails } from "./approval.ts";

/** The answer that leaves the decision to the model. */
export const DECIDE_YOURSELF = "Use your best judgement, and say what you assumed.";

/** The choices of a clarification, numbered from 1. */
export function numberChoices({ choices = [] }: ApprovalDetails): readonly string[] {
  return choices.map((choice, index) => `${index + 1}. ${choice}`);
}

/**
 * Parses a person's answer. Numbers select choices; any other text is the answer itself. A number without a choice is refused as
 * a slip.
 */
export function parseClarification(text: string, { choices = [], several }: ApprovalDetails): string {
  const words = text.trim();
  if (words === "") throw refusal("The answer is empty.");
  if (choices.length === 0 || choices.includes(words) || !/^\d+(?:[\s,]+\d+)*$/.test(words)) return words;
  const numbers = [...new Set(words.split(/[\s,]+/))];
  if (numbers.length > 1 && !several) throw refusal("This question takes only one choice.");
  return numbers
    .map((number) => {
      const choice = choices[Number(number) - 1];
      if (choice === undefined) throw refusal(`There is no choice ${number}, only 1 to ${choices.length}.`);
      return choice;
    })
    .join("\n");
}

function refusal(message: string): AppError {
  return new AppError("usage-wrong", message, { hint: "Answer with a number, or in your own words." });
}

/** The question with its choices, in one line. */
export function formatClarification({ summary, details }: Approval): string {
  return [summary, ...numberChoices(details)].join(" ");
}
