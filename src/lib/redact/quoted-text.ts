const STOP = /[\s"'`\\\p{Cc}]/u;

/** The quote that opens a value, with the backslashes in front of it when the text is itself inside a string. */
export interface Opener {
  readonly quote: string;
  readonly escapes: number;
  /** Where the quoted text begins. */
  readonly end: number;
}

/** Reads an opening quote at `at`, such as `"`, `\"` or Python's `b'`. */
export function findOpener(text: string, at: number): Opener | undefined {
  const match = /^[bfru]{0,2}(\\{0,3})(["'`])/i.exec(text.slice(at, at + 6));
  if (match === null) return undefined;
  const { 0: whole, 1: escapes = "", 2: quote = "" } = match;
  return { quote, escapes: escapes.length, end: at + whole.length };
}

/** Where the text behind `opener` ends: at its closing quote or, should that be missing, with the line. */
export function endOfQuoted(text: string, { quote, escapes, end }: Opener): number {
  const closer = "\\".repeat(escapes) + quote;
  let at = end;
  while (at < text.length && text.charAt(at) !== "\n" && !text.startsWith(closer, at)) {
    at += escapes === 0 && text.charAt(at) === "\\" ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/**
 * Where a value without quotes ends: at white space, a quote, or an escape such as the `\n` of JSON. Whoever
 * may yet refuse the value looks no further than `limit`, or a text of many refusals would be read many times.
 */
export function endOfWord(text: string, from: number, limit = text.length): number {
  const word = text.slice(from, from + limit);
  const stop = word.search(STOP);
  return from + (stop < 0 ? word.length : stop);
}

/** The end of a word without the punctuation that belongs to what stands around it. */
export function trimPunctuation(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && /[,;:)\]}]/.test(text.charAt(last - 1))) last -= 1;
  return last;
}
