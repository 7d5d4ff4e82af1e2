import { bodyOf } from "./text-lines.ts";

/** The part of a file that looks most like what was searched for, to be shown to whoever searched. */
export interface NearestPlace {
  readonly line: number; // 1-based
  readonly lines: readonly string[]; // without terminators, long ones cut
}

const SHOWN_LINES = 5;
const SHOWN_CHARS = 200;
const COMMON_AFTER = 50; // a line that occurs more often among the wanted ones ("}") says nothing about the place
const LIKE_ENOUGH = 0.5;

/** Finds where most of the `wanted` lines stand in place, else the line most like the first of them; undefined if nothing is alike. */
export function findNearestPlace(
  lines: readonly string[],
  wanted: readonly string[],
): NearestPlace | undefined {
  const start = startByVotes(lines, wanted) ?? startByLikeness(lines, wanted);
  if (start === undefined) return undefined;
  const count = Math.min(Math.max(wanted.length, 1), SHOWN_LINES);
  const shown = lines.slice(start, start + count).map((line) => bodyOf(line).slice(0, SHOWN_CHARS));
  return { line: start + 1, lines: shown };
}

function startByVotes(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [at, line] of wanted.entries()) {
    const key = line.trim();
    if (key === "") continue;
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    else if (known.length < COMMON_AFTER) known.push(at);
  }
  const votes = new Map<number, number>();
  for (const [at, line] of lines.entries()) {
    for (const place of places.get(line.trim()) ?? []) {
      const start = Math.max(0, at - place);
      votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  }
  return highest(votes);
}

function startByLikeness(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const first = wanted.findIndex((line) => line.trim() !== "");
  const target = pairs(wanted[first] ?? "");
  const scores = new Map<number, number>();
  for (const [at, line] of lines.entries()) {
    const candidate = pairs(line);
    let shared = 0;
    for (const pair of candidate) if (target.has(pair)) shared += 1;
    const likeness = (2 * shared) / (candidate.size + target.size);
    if (likeness >= LIKE_ENOUGH) scores.set(Math.max(0, at - first), likeness);
  }
  return highest(scores);
}

function pairs(line: string): Set<string> {
  const text = line.trim().slice(0, SHOWN_CHARS).toLowerCase();
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

function highest(scores: ReadonlyMap<number, number>): number | undefined {
  let best: number | undefined;
  let bestScore = 0;
  for (const [start, score] of scores) {
    if (score > bestScore) [best, bestScore] = [start, score];
  }
  return best;
}
