/** A range of text, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
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
