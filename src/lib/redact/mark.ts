const MARK = /«redacted:[a-z-]{1,40}»/g;

/** A stretch of text, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What stands in a text in place of a secret: no program takes it for a value, and a reader sees what it was. */
export function redactionMark(kind: string): string {
  return `«redacted:${kind}»`;
}

/** True when something in `text` was redacted; such text must not be written to where it came from. */
export function containsRedactionMark(text: string): boolean {
  return text.search(MARK) >= 0;
}

/** Every mark in `text`, in order. */
export function findMarks(text: string): Span[] {
  if (!text.includes("«redacted:")) return [];
  return Array.from(text.matchAll(MARK), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}
