import { headOf } from "../../../lib/shorten.ts";
import { bodyOf } from "./text-lines.ts";

/** The part of a file that looks most like what was searched for, to be shown to whoever searched. */
export interface NearestPlace {
  readonly line: number; // 1-based
  readonly lines: readonly string[]; // without terminators, long ones cut
}

const SHOWN_LINES = 5;
const SHOWN_CHARS = 200;
const COMPARED_LINES = 200;
const CANDIDATES = 8;
const LIKE_ENOUGH = 0.5;

/**
 * Finds the place whose lines are most like the `wanted` ones; undefined if nothing is alike. Looked at are the places
 * where the rarest of the wanted lines stand, and those that are most like the longest of them.
 */
export function findNearestPlace(
  lines: readonly string[],
  wanted: readonly string[],
): NearestPlace | undefined {
  const telling = longestOf(wanted);
  if (telling === undefined) return undefined;
  const candidates = new Set([...startsByVotes(lines, wanted), ...startsByLikeness(lines, wanted, telling)]);
  const compared = wanted.slice(0, COMPARED_LINES);
  const weights = compared.map((line) => Math.min(line.trim().length, SHOWN_CHARS));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const scores = new Map<number, number>();
  for (const start of candidates) {
    const alike = compared.map((line, index) => {
      const weight = weights[index] ?? 0;
      return weight === 0 ? 0 : weight * createLikeness(line)(lines[start + index] ?? "");
    });
    const score = alike.reduce((sum, one) => sum + one, 0) / total;
    if (score >= LIKE_ENOUGH) scores.set(start, score);
  }
  const [start] = highest(scores, 1);
  if (start === undefined) return undefined;
  const count = Math.min(Math.max(wanted.length, 1), SHOWN_LINES);
  const shown = lines.slice(start, start + count).map((line) => headOf(bodyOf(line), SHOWN_CHARS));
  return { line: start + 1, lines: shown };
}

function longestOf(wanted: readonly string[]): number | undefined {
  const lengths = wanted.slice(0, COMPARED_LINES).map((line) => line.trim().length);
  const longest = lengths.reduce((best, length) => Math.max(best, length), 0);
  return longest === 0 ? undefined : lengths.indexOf(longest);
}

/** Each wanted line that stands in the file votes for where the first would be; one that is often there says little. */
function startsByVotes(lines: readonly string[], wanted: readonly string[]): number[] {
  const places = new Map<string, { readonly at: number; readonly found: number[] }>();
  for (const [at, line] of wanted.entries())
    if (line.trim() !== "") places.set(line.trim(), { at, found: [] });
  for (const [at, line] of lines.entries()) places.get(line.trim())?.found.push(at);
  const votes = new Map<number, number>();
  for (const { at, found } of places.values()) {
    for (const place of found) {
      const start = Math.max(0, place - at);
      votes.set(start, (votes.get(start) ?? 0) + 1 / found.length);
    }
  }
  return highest(votes, CANDIDATES);
}

function startsByLikeness(lines: readonly string[], wanted: readonly string[], telling: number): number[] {
  const likeness = createLikeness(wanted[telling] ?? "");
  const scores = new Map<number, number>();
  for (const [at, line] of lines.entries()) {
    const score = likeness(line);
    if (score >= LIKE_ENOUGH) scores.set(Math.max(0, at - telling), score);
  }
  return highest(scores, CANDIDATES);
}

const HASHES = 1 << 14;

/** How many pairs of neighbouring letters a line shares with the target, from 0 to 1. Hashed: a file may have many lines. */
function createLikeness(target: string): (line: string) => number {
  const wanted = new Uint8Array(HASHES);
  const seen = new Int32Array(HASHES);
  let round = 0;
  let size = 0;
  const visit = (line: string, onPair: (hash: number) => void): void => {
    round++;
    const [start, end] = [firstInk(line), Math.min(lastInk(line), firstInk(line) + SHOWN_CHARS)];
    for (let at = start; at < end; at++) {
      const hash = (lower(line.charCodeAt(at)) * 131 + lower(line.charCodeAt(at + 1))) & (HASHES - 1);
      if (seen[hash] === round) continue;
      seen[hash] = round;
      onPair(hash);
    }
  };
  visit(target, (hash) => {
    wanted[hash] = 1;
    size++;
  });
  return (line) => {
    let shared = 0;
    let own = 0;
    visit(line, (hash) => {
      own++;
      shared += wanted[hash] ?? 0;
    });
    if (own === 0 || size === 0) return line.trim() === target.trim() ? 1 : 0;
    return (2 * shared) / (own + size);
  };
}

function firstInk(line: string): number {
  let at = 0;
  while (at < line.length && line.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Of the last character that is not blank. */
function lastInk(line: string): number {
  let at = line.length - 1;
  while (at > 0 && line.charCodeAt(at) <= 0x20) at--;
  return at;
}

function lower(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
}

/** The highest of all scores, the best first; of equals the one that came first. */
function highest(scores: ReadonlyMap<number, number>, count: number): number[] {
  const best: (readonly [start: number, score: number])[] = [];
  for (const entry of scores) {
    if (best.length === count && entry[1] <= (best.at(-1)?.[1] ?? 0)) continue;
    const at = best.findIndex(([, score]) => score < entry[1]);
    best.splice(at === -1 ? best.length : at, 0, entry);
    if (best.length > count) best.pop();
  }
  return best.map(([start]) => start);
}
