import { type Message, textOf } from "../../providers/message.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { cutText, textWidth } from "../terminal/fit-text.ts";
import { quoteLine } from "../terminal/quote-text.ts";
import { formatAge } from "./format-duration.ts";

/** The facts that the recap of a resumed session shows. */
export interface RecapRequest {
  readonly pastMessages: readonly Message[];
  /** All turns of the session, including those that were compacted. */
  readonly turns: number;
  readonly title: string | undefined;
  readonly folder: string;
  /** The time since the session was last used. */
  readonly ageMs: number;
}

const MAX_EXCHANGES = 4;

/** A session in at most nine rows: its facts, and its last messages with the first line of each answer, without code. */
export function recap(
  { pastMessages, turns, title, folder, ageMs }: RecapRequest,
  columns: number,
): string[] {
  const exchanges: string[][] = [];
  for (const message of pastMessages) {
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
  // Cut a long folder rather than the command that shows the rest.
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
