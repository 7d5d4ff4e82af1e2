/** Which differences are ignored, strictest first; each level includes those before it. */
export const TOLERANCES = [
  "exact",
  "line-endings",
  "trailing-whitespace",
  "inner-whitespace",
  "punctuation",
] as const;
export type Tolerance = (typeof TOLERANCES)[number];

/** Strategies to find a text, strictest first. `indentation` also re-indents the new text, so it precedes `inner-whitespace`. */
export type MatchStrategy = Tolerance | "indentation";
export const STRATEGIES: readonly MatchStrategy[] = TOLERANCES.flatMap((tolerance) =>
  tolerance === "inner-whitespace" ? (["indentation", tolerance] as const) : [tolerance],
);

/** A normalised text with a mapping from its offsets to those of the original. */
export interface FoldedText {
  readonly text: string;
  /** Whitespace was dropped at the very end, so a match must end at the end of a line. */
  readonly endsLine: boolean;
  /** Maps to the position before any characters dropped there, so that a CR stays with its line ending. */
  originalOffset(foldedOffset: number): number;
}

const LOOKALIKES = new Map<string, string>([
  ...[..."\u2018\u2019\u201a\u201b\u2032"].map((quote) => [quote, "'"] as const),
  ...[..."\u201c\u201d\u201e\u201f\u2033"].map((quote) => [quote, '"'] as const),
  ...[..."\u2010\u2011\u2012\u2013\u2014\u2015\u2212"].map((dash) => [dash, "-"] as const),
]);
const PLAIN_PIECES = /\r(?=\n)|[ \t]+/g;
const TYPOGRAPHIC_PIECES =
  /\r(?=\n)|[ \t\u00a0\u2002-\u200a\u202f\u205f\u3000]+|[\u2010-\u2015\u2018-\u201f\u2032\u2033\u2212]/g;

/** Removes the differences that `tolerance` ignores; newlines and indentation are always kept. */
export function foldText(original: string, tolerance: Tolerance): FoldedText {
  if (tolerance === "exact") {
    return { text: original, endsLine: false, originalOffset: (at) => at };
  }
  const level = TOLERANCES.indexOf(tolerance);
  const dropTrailing = level >= TOLERANCES.indexOf("trailing-whitespace");
  const collapseInner = level >= TOLERANCES.indexOf("inner-whitespace");
  const typographic = tolerance === "punctuation";

  const starts: number[] = []; // folded offset of each piece that changed length
  const removed: number[] = [0]; // characters that the first n of those pieces lost
  let shortened = 0;
  let endsLine = false;

  const fold = (piece: string, at: number): string => {
    if (piece === "\r") return "";
    const plain = typographic ? (LOOKALIKES.get(piece) ?? piece.replace(/[^\t]/g, " ")) : piece;
    if (LOOKALIKES.has(piece)) return plain;
    const after = at + piece.length;
    const trailing =
      after === original.length || original[after] === "\n" || original.startsWith("\r\n", after);
    if (trailing && dropTrailing) {
      endsLine ||= after === original.length;
      return "";
    }
    const leading = at === 0 || original[at - 1] === "\n";
    return collapseInner && !leading ? " " : plain;
  };

  const text = original.replace(typographic ? TYPOGRAPHIC_PIECES : PLAIN_PIECES, (piece, at: number) => {
    const folded = fold(piece, at);
    if (folded.length !== piece.length) {
      starts.push(at - shortened);
      shortened += piece.length - folded.length;
      removed.push(shortened);
    }
    return folded;
  });
  return {
    text,
    endsLine,
    originalOffset: (at) => at + (removed[countWhile(starts, (start) => start < at)] ?? 0),
  };
}

/** Counts the leading values that satisfy `holds`; binary search, so `holds` must be true for a prefix only. */
function countWhile(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(values[middle] ?? 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const MAX_WORDS = 40;

/**
 * Whether a text contains all words of another. No tolerance ignores a word, so a missing word rules out every match,
 * which is much faster than folding a large file at each tolerance.
 */
export function containsWords(text: string, wanted: string): boolean {
  const words = new Set(wanted.match(/[A-Za-z0-9_]{3,}/g));
  const longest = [...words].toSorted((one, other) => other.length - one.length).slice(0, MAX_WORDS);
  return longest.every((word) => text.includes(word));
}
