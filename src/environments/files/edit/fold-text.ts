/** How much difference is overlooked, strictest first; each of these forgives what those before it forgive. */
export const TOLERANCES = [
  "exact",
  "line-endings",
  "trailing-whitespace",
  "inner-whitespace",
  "punctuation",
] as const;
export type Tolerance = (typeof TOLERANCES)[number];

/** Ways to find a text, strictest first. Indentation comes before whitespace inside lines: the new text moves along. */
export type MatchStrategy = Tolerance | "indentation";
export const STRATEGIES: readonly MatchStrategy[] = TOLERANCES.flatMap((tolerance) =>
  tolerance === "inner-whitespace" ? (["indentation", tolerance] as const) : [tolerance],
);

/** A text with differences folded away, and the way back from its offsets to those of the original. */
export interface FoldedText {
  readonly text: string;
  /** True when blanks were dropped at the very end, so that the text has to end where a line ends. */
  readonly endsLine: boolean;
  /** Before whatever was dropped right there, so that a line's end is on the same side as its CR. */
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

/** Folds away what `tolerance` overlooks; newlines and the indentation of lines are always kept. */
export function foldText(original: string, tolerance: Tolerance): FoldedText {
  if (tolerance === "exact") {
    return { text: original, endsLine: false, originalOffset: (at) => at };
  }
  const level = TOLERANCES.indexOf(tolerance);
  const dropTrailing = level >= TOLERANCES.indexOf("trailing-whitespace");
  const collapseInner = level >= TOLERANCES.indexOf("inner-whitespace");
  const typographic = tolerance === "punctuation";

  const starts: number[] = []; // of each piece that changed length, as offsets in the folded text
  const removed: number[] = [0]; // how much the first n of those pieces shortened the text
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

/** How many of the leading, sorted `values` hold. */
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
