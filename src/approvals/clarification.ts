import type { Approval, ApprovalDetails } from "./approval.ts";

/** The answer that leaves the decision to the model. */
export const DECIDE_YOURSELF = "Use your best judgement, and say what you assumed.";

/** The choices of a clarification, numbered from 1. */
export function numberChoices({ choices = [] }: ApprovalDetails): readonly string[] {
  return choices.map((choice, index) => `${index + 1}. ${choice}`);
}

/** Parses a person's answer. Numbers select choices; any other text is the answer itself. */
export function parseClarification(text: string, { choices = [], several }: ApprovalDetails): string {
  const words = text.trim();
  if (choices.includes(words) || !/^\d+(?:[\s,]+\d+)*$/.test(words)) return words;
  const numbers = [...new Set(words.split(/[\s,]+/))];
  const chosen = numbers.map((number) => choices[Number(number) - 1]);
  const isChoice = chosen.every((choice) => choice !== undefined) && (several || chosen.length === 1);
  return isChoice ? chosen.join("\n") : words;
}

/** The question with its choices, in one line. */
export function formatClarification({ summary, details }: Approval): string {
  return [summary, ...numberChoices(details)].join(" ");
}
