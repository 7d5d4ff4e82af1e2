import type { Script, ScriptedAnswer } from "./script.ts";

/** The parts of a message that the choice of the next answer depends on. */
export interface MessageSummary {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  /** Whether it is a note between tool results, which does not start a turn. */
  readonly isSteer: boolean;
}

export interface PickedAnswer {
  /** Undefined if the script has no more answers. */
  readonly answer: ScriptedAnswer | undefined;
  /** The number of the answer in its list, from 1. */
  readonly number: number;
  /** The number of assistant messages in the conversation, which is the same in every process that resumes it. */
  readonly answerIndex: number;
}

/** Picks the next answer. Depends only on the conversation, so that every process picks the same one. */
export function pickAnswer(script: Script, lines: readonly MessageSummary[]): PickedAnswer {
  const answerIndex = countAnswers(lines);
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index];
    if (line?.role !== "user" || line.isSteer) continue;
    const turn = script.turns.find(({ when }) => line.text.includes(when));
    if (turn === undefined) continue;
    const number = countAnswers(lines.slice(index)) + 1;
    return { answer: nth(turn.answers, number), number, answerIndex };
  }
  return { answer: nth(script.answers, answerIndex + 1), number: answerIndex + 1, answerIndex };
}

/** Replaces `{n}` with the number of the answer, so that repeated answers can differ. */
export function fillTemplate(text: string, number: number): string {
  return text.replaceAll("{n}", String(number));
}

function nth(answers: readonly ScriptedAnswer[], number: number): ScriptedAnswer | undefined {
  let left = number;
  for (const answer of answers) {
    if (left <= answer.times) return answer;
    left -= answer.times;
  }
  return undefined;
}

function countAnswers(lines: readonly MessageSummary[]): number {
  return lines.filter(({ role }) => role === "assistant").length;
}
