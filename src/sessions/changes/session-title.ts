import { AppError } from "../../lib/errors.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { headOf } from "../../lib/text/shorten.ts";
import type { UserMessage } from "../../providers/message.ts";

const MAX_LENGTH = 100;
/** Stands for the latest session wherever a session is named. */
export const LATEST = "latest";
// Control, format (zero-width, direction marks), lone surrogates, private use; line and paragraph separators.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** A title as it is stored: one line of visible characters, cut at 100; throws if no visible character remains. */
export function parseTitle(text: string): string {
  const visible = text.replace(/\s+/gu, " ").replace(INVISIBLE, "").replace(/ {2,}/g, " ").trim();
  if (visible === "") throw new AppError("session-title-invalid", "The title is empty.");
  return trimmedHead(visible, MAX_LENGTH);
}

/** Appends a number to a title that is already taken, as in `name #2`. */
export function createTitleNumberer(database: Database): (title: string) => string {
  const find = database.prepare("select 1 from session where title = ?");
  return (wanted) => {
    if (find.get(wanted) === undefined) return wanted;
    const first = wanted.replace(/ #\d+$/, "");
    const title = find.get(first) === undefined ? wanted : first; // after `name` and `name #2` comes `name #3`
    const isTaken = (number: number): boolean => find.get(addNumber(title, number)) !== undefined;
    // Does not try the numbers one by one, because a script may send the same message thousands of times.
    let taken = 1;
    let free = 2;
    while (isTaken(free)) [taken, free] = [free, free * 2];
    while (free - taken > 1) {
      const middle = (taken + free) >>> 1;
      if (isTaken(middle)) taken = middle;
      else free = middle;
    }
    return addNumber(title, free);
  };
}

const CUT_LENGTH = 60;

/** A title from the first line of a message, without secrets; undefined if the message has no usable text. */
export function cutTitle(message: UserMessage, redact: (text: string) => string): string | undefined {
  const text = message.parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .find((part) => part.trim());
  // Redact before cutting, because half a key would not be recognised.
  const first = redact(text?.trim().split("\n", 1)[0] ?? "");
  const line = first.replace(INVISIBLE, " ").replace(/\s+/gu, " ").trim();
  if (line === "" || line.toLowerCase() === LATEST) return undefined;
  if (line.length <= CUT_LENGTH) return line;
  const head = trimmedHead(line, CUT_LENGTH);
  const space = line[head.length] === " " ? head.length : head.lastIndexOf(" ");
  return `${space > CUT_LENGTH / 2 ? head.slice(0, space) : head}…`;
}

function addNumber(title: string, number: number): string {
  const suffix = ` #${number}`;
  return `${trimmedHead(title, MAX_LENGTH - suffix.length)}${suffix}`;
}

function trimmedHead(text: string, length: number): string {
  return headOf(text, length).trimEnd();
}
