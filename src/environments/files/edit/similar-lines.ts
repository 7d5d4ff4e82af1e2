import { headOf } from "../../../lib/text/shorten.ts";
import { bodyOf } from "./text-lines.ts";

/** The part of a file that is most similar to a text that was not found, as a suggestion. */
export interface SimilarLines {
  readonly line: number; // 1-based
  readonly lines: readonly string[]; // without terminators, long ones cut
}

const SHOWN_LINES = 5;
const SHOWN_CHARS = 200;
const COMPARED_LINES = 200;
const CANDIDATES = 8;
const MIN_SIMILARITY = 0.5;

/**
 * Finds the lines that are most similar to the `wanted` ones; undefined if none are similar. Candidates are the positions
 * of the rarest wanted lines, and the lines most similar to the longest wanted line.
 */
export function findSimilarLines(
  lines: readonly string[],
  wanted: readonly string[],
): SimilarLines | undefined {
  const longest = indexOfLongest(wanted);
  if (longest === undefined) return undefined;
  const candidates = new Set([
    ...startsByVotes(lines, wanted),
    ...startsBySimilarity(lines, wanted, longest),
  ]);
  const compared = wanted.slice(0, COMPARED_LINES);
  const weights = compared.map((line) => Math.min(line.trim().length, SHOWN_CHARS));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const scores = new Map<number, number>();
  for (const start of candidates) {
    const similarities = compared.map((line, index) => {
      const weight = weights[index] ?? 0;
      return weight === 0 ? 0 : weight * createSimilarity(line)(lines[start + index] ?? "");
    });
    const score = similarities.reduce((sum, one) => sum + one, 0) / total;
    if (score >= MIN_SIMILARITY) scores.set(start, score);
  }
  const [start] = highest(scores, 1);
  if (start === undefined) return undefined;
  const count = Math.min(Math.max(wanted.length, 1), SHOWN_LINES);
  const shown = lines.slice(start, start + count).map((line) => headOf(bodyOf(line), SHOWN_CHARS));
  return { line: start + 1, lines: shown };
}

function indexOfLongest(wanted: readonly string[]): number | undefined {
  const lengths = wanted.slice(0, COMPARED_LINES).map((line) => line.trim().length);
  const maximum = lengths.reduce((best, length) => Math.max(best, length), 0);
  return maximum === 0 ? undefined : lengths.indexOf(maximum);
}

/** Each wanted line that occurs in the file votes for the start of the block; frequent lines have less weight. */
function startsByVotes(lines: readonly string[], wanted: readonly string[]): number[] {
  const occurrences = new Map<string, { readonly at: number; readonly found: number[] }>();
  for (const [at, line] of wanted.entries())
    if (line.trim() !== "") occurrences.set(line.trim(), { at, found: [] });
  for (const [at, line] of lines.entries()) occurrences.get(line.trim())?.found.push(at);
  const votes = new Map<number, number>();
  for (const { at, found } of occurrences.values()) {
    for (const line of found) {
      const start = Math.max(0, line - at);
      votes.set(start, (votes.get(start) ?? 0) + 1 / found.length);
    }
  }
  return highest(votes, CANDIDATES);
}

function startsBySimilarity(lines: readonly string[], wanted: readonly string[], longest: number): number[] {
  const similarityTo = createSimilarity(wanted[longest] ?? "");
  const scores = new Map<number, number>();
  for (const [at, line] of lines.entries()) {
    const score = similarityTo(line);
    if (score >= MIN_SIMILARITY) scores.set(Math.max(0, at - longest), score);
  }
  return highest(scores, CANDIDATES);
}

const HASHES = 1 << 14;

/** The share of letter pairs that a line has in common with the target, from 0 to 1. Hashed for speed. */
function createSimilarity(target: string): (line: string) => number {
  const wanted = new Uint8Array(HASHES);
  const seen = new Int32Array(HASHES);
  let round = 0;
  let size = 0;
  const visit = (line: string, onPair: (hash: number) => void): void => {
    round++;
    const text = line.trim().toLowerCase();
    for (let at = 0; at < Math.min(text.length - 1, SHOWN_CHARS); at++) {
      const hash = (text.charCodeAt(at) * 131 + text.charCodeAt(at + 1)) & (HASHES - 1);
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

/** The keys with the highest scores, best first; equal scores keep their order. */
function highest(scores: ReadonlyMap<number, number>, count: number): number[] {
  const best = [...scores].toSorted(([, one], [, other]) => other - one);
  return best.slice(0, count).map(([start]) => start);
}
