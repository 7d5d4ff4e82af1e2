import type { Span } from "./secret-match.ts";

const MARK = /«redacted:[a-z-]{1,40}»/g;

/** The replacement for a secret: it cannot be mistaken for a value, and it names the kind of secret. */
export function redactionMark(kind: string): string {
  return `«redacted:${kind}»`;
}

/** Whether `text` contains a redaction mark; such text must not be written back to its source. */
export function containsRedactionMark(text: string): boolean {
  return text.search(MARK) >= 0;
}

export function findMarks(text: string): Span[] {
  if (!text.includes("«redacted:")) return [];
  return Array.from(text.matchAll(MARK), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}
