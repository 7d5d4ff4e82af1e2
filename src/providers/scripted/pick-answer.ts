import type { Script, ScriptedAnswer } from "./script.ts";

/** As much of a message as decides which answer is next. */
export interface Line {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  /** A note between tool results, which begins nothing. */
  readonly isSteer: boolean;
}

export interface Picked {
  /** Undefined when the script is at its end. */
  readonly answer: ScriptedAnswer | undefined;
  /** Which answer this is, counted from 1 where its list begins. */
  readonly number: number;
  /** Assistant messages in the whole conversation: the same place has the same, in any process. */
  readonly place: number;
}

/** The answer that the conversation calls for; nothing but the conversation decides. */
export function pickAnswer(script: Script, lines: readonly Line[]): Picked {
  const place = countAnswers(lines);
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index];
    if (line?.role !== "user" || line.isSteer) continue;
    const turn = script.turns.find(({ when }) => line.text.includes(when));
    if (turn === undefined) continue;
    const number = countAnswers(lines.slice(index)) + 1;
    return { answer: nth(turn.answers, number), number, place };
  }
  return { answer: nth(script.answers, place + 1), number: place + 1, place };
}

/** `{n}` in a text stands for the number of the answer, so that repeated ones can differ. */
export function fillIn(text: string, number: number): string {
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

function countAnswers(lines: readonly Line[]): number {
  return lines.filter(({ role }) => role === "assistant").length;
}
