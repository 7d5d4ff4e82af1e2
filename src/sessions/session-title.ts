import type { Database } from "../lib/database.ts";
import { AppError } from "../lib/errors.ts";
import { headOf } from "../lib/shorten.ts";

const LONGEST = 100;
// Control, format (zero-width, direction marks), lone surrogates, private use; line and paragraph separators.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** A title as it is stored: one line of visible characters, cut at 100; throws when nothing is left. */
export function parseTitle(text: string): string {
  const spaced = text.replace(/\s+/gu, " ").replace(INVISIBLE, "").replace(/ {2,}/g, " ").trim();
  if (spaced === "") throw new AppError("session-title-invalid", "The title is empty.");
  return cut(spaced, LONGEST);
}

/** Makes a title free by a number behind it, as in `name #2`, if a session has it already. */
export function createFreeTitle(database: Database): (title: string) => string {
  const isTaken = database.prepare("select 1 from session where title = ?");
  return (title) => {
    let free = title;
    for (let number = 2; isTaken.get(free) !== undefined; number++) free = numbered(title, number);
    return free;
  };
}

function numbered(title: string, number: number): string {
  const suffix = ` #${number}`;
  return `${cut(title, LONGEST - suffix.length)}${suffix}`;
}

function cut(text: string, length: number): string {
  return headOf(text, length).trimEnd();
}
