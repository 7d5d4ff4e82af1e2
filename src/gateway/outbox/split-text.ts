import { stripEscapes } from "../../lib/text/strip-escapes.ts";
import type { Capabilities } from "../platform.ts";

const MEASURES: Readonly<Record<Capabilities["textUnit"], (text: string) => number>> = {
  "code-points": (text) => [...text].length,
  utf16: (text) => text.length,
  bytes: (text) => Buffer.byteLength(text),
};

/** Where to divide a text, in order of preference: between paragraphs, lines, sentences, words. */
const BOUNDARIES = [/\n\n/g, /\n/g, /[.!?…] /g, /\s/g];
/** No chat shows control characters, and some services refuse them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters on purpose
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const FENCE = "```";
/** Space for the marks that end and reopen a divided code block. */
const FENCE_ROOM = 24;

/** More messages for one answer would not be read, and services refuse such a flood. */
export const MAX_PARTS = 20;

/**
 * Divides a text into parts that a platform can send. A divided code block is closed and reopened. If the text needs too many parts,
 * the last one says how much is missing.
 */
export function splitText(
  text: string,
  { maxTextLength, textUnit, markdown }: Pick<Capabilities, "maxTextLength" | "textUnit" | "markdown">,
): readonly string[] {
  const measure = MEASURES[textUnit];
  const parts: string[] = [];
  const hasFences = markdown === "rendered" && text.includes(FENCE);
  const room = hasFences && maxTextLength > 4 * FENCE_ROOM ? maxTextLength - FENCE_ROOM : maxTextLength;
  let rest = stripEscapes(text).replace(CONTROLS, "").trim();
  let opening: string | undefined; // the line that opened the code block in which the previous part ended
  while (rest !== "") {
    if (parts.length === MAX_PARTS - 1 && measure(rest) > room) {
      parts.push(`[… ${rest.length} more characters]`);
      break;
    }
    const head = opening === undefined ? "" : `${opening}\n`;
    const whole = `${head}${rest}`;
    if (measure(whole) <= maxTextLength) {
      parts.push(whole);
      break;
    }
    const end = findBoundary(rest, longestFitting(rest, room - measure(head), measure));
    const body = `${head}${rest.slice(0, end).trimEnd()}`;
    rest = opening === undefined ? rest.slice(end).trimStart() : rest.slice(end).replace(/^\n/, "");
    const open = hasFences ? findOpenFence(body) : undefined;
    if (opening === undefined && open !== undefined) rest = rest.replace(/^\n+/, "");
    opening = open;
    parts.push(open === undefined ? body : `${body}\n${FENCE}`);
  }
  return parts.filter((part) => part.trim() !== "");
}

/** The longest beginning that fits, in UTF-16 units, never in the middle of a character. */
function longestFitting(text: string, room: number, measure: (text: string) => number): number {
  let low = 1;
  let high = Math.min(text.length, Math.max(1, room));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(text.slice(0, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  const isHalf = /[\uD800-\uDBFF]/.test(text[low - 1] ?? "");
  return isHalf ? (low > 1 ? low - 1 : 2) : low;
}

/** The best boundary in the second half of what fits. */
function findBoundary(text: string, fitting: number): number {
  const window = text.slice(0, fitting);
  for (const boundary of BOUNDARIES) {
    const last = [...window.matchAll(boundary)].at(-1);
    if (last !== undefined && last.index >= fitting / 2) return last.index + last[0].length;
  }
  return fitting;
}

function findOpenFence(text: string): string | undefined {
  const fences = text.split("\n").filter((line) => line.trimStart().startsWith(FENCE));
  return fences.length % 2 === 1
    ? fences
        .at(-1)
        ?.trim()
        .slice(0, FENCE_ROOM - FENCE.length - 2)
    : undefined;
}
