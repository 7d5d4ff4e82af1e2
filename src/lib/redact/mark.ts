const MARK = /«redacted:[a-z-]{1,40}»/g;

/** A range of text, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

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

/** A secret found in a text. */
export interface SecretMatch extends Span {
  readonly kind: string;
  /** The text that the finding depends on: for `API_KEY=x` from the character before the name to the character after the value. */
  readonly evidence: Span;
}

/** Creates a finding whose evidence reaches from `from` to `until`, plus one character on each side. */
export function createSecretMatch(
  kind: string,
  { start, end }: Span,
  from = start,
  until = end,
): SecretMatch {
  return { start, end, kind, evidence: { start: from - 1, end: until + 1 } };
}
