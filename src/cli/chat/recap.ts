import { type Message, textOf } from "../../providers/message.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { cutText, textWidth } from "../terminal/fit-text.ts";
import { quoteLine } from "../terminal/quote-text.ts";
import { formatAge } from "./format-duration.ts";

/** What a person needs in order to know where they were. */
export interface RecapRequest {
  readonly past: readonly Message[];
  /** Turns of the session, also those that the model sees only in a summary. */
  readonly turns: number;
  readonly title: string | undefined;
  readonly folder: string;
  /** How long ago the session was used. */
  readonly ageMs: number;
}

const MAX_EXCHANGES = 4;

/** The session, its last questions and the first lines of their answers, without code: nine rows at most. */
export function recap({ past, turns, title, folder, ageMs }: RecapRequest, columns: number): string[] {
  const exchanges: string[][] = [];
  for (const message of past) {
    if (message.role === "user" && message.kind === undefined)
      exchanges.push([`❯ ${firstLine(textOf(message))}`]);
    if (message.role === "assistant" && textOf(message).trim() !== "")
      exchanges.at(-1)?.splice(1, 1, `  ${firstLine(textOf(message))}`);
  }
  const facts = [
    title === undefined ? "session" : `session "${quoteLine(title)}"`,
    `${turns} ${turns === 1 ? "turn" : "turns"}`,
    formatAge(ageMs),
    quoteLine(folder),
  ];
  // The way to the rest is worth more than the end of a long folder.
  const head = cutText(facts.join(" · "), Math.max(1, columns - 1 - textWidth(ALL))) + ALL;
  const shown = exchanges.slice(-MAX_EXCHANGES).flat();
  return [head, ...shown].map((line) => cutText(line, columns - 1));
}

const ALL = " · all of it: /history";

function firstLine(text: string): string {
  const prose = escapeControls(text).replace(/```[\s\S]*?(?:```|$)/g, "");
  return (
    prose
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? ""
  );
}
