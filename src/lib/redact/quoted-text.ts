const STOP = /[\s"'`\\\p{Cc}]/u;

/** The quote that opens a value, with the number of backslashes before it when the text is itself inside a string. */
export interface Opener {
  readonly quote: string;
  readonly escapes: number;
  /** Where the quoted text starts. */
  readonly end: number;
}

/** Finds an opening quote at `at`, such as `"`, `\"` or Python's `b'`. */
export function findOpener(text: string, at: number): Opener | undefined {
  const match = /^[bfru]{0,2}(\\{0,3})(["'`])/i.exec(text.slice(at, at + 6));
  if (match === null) return undefined;
  const { 0: matched, 1: escapes = "", 2: quote = "" } = match;
  return { quote, escapes: escapes.length, end: at + matched.length };
}

/** Where the text after `opener` ends: at the closing quote or, without one, at the end of the line. */
export function endOfQuoted(text: string, { quote, escapes, end }: Opener): number {
  const closer = "\\".repeat(escapes) + quote;
  let at = end;
  while (at < text.length && text.charAt(at) !== "\n" && !text.startsWith(closer, at)) {
    at += escapes === 0 && text.charAt(at) === "\\" ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/**
 * Where an unquoted value ends: at whitespace, a quote, or an escape such as the `\n` of JSON. A caller that may still reject
 * the value passes a `limit`, because scanning many rejected values to their end would take quadratic time.
 */
export function endOfWord(text: string, from: number, limit = text.length): number {
  const word = text.slice(from, from + limit);
  const stop = word.search(STOP);
  return from + (stop < 0 ? word.length : stop);
}

/** The end of a word without trailing punctuation of the surrounding text. */
export function trimPunctuation(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && /[,;:)\]}]/.test(text.charAt(last - 1))) last -= 1;
  return last;
}
