import type { Span } from "./mark.ts";

/** A secret found in a text. */
export interface Finding extends Span {
  readonly kind: string;
  /** All that the judgement rests on: for `API_KEY=x` from the character in front of the name to the one behind the value. */
  readonly evidence: Span;
}

/** A finding whose evidence is itself, from `from` on, and its two neighbours. */
export function findingOf(kind: string, { start, end }: Span, from = start, until = end): Finding {
  return { start, end, kind, evidence: { start: from - 1, end: until + 1 } };
}
