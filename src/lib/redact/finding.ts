import type { Span } from "./mark.ts";

/** A secret found in a text: its span, what it is, and the wider stretch that the judgement rests on. */
export interface Finding extends Span {
  readonly kind: string;
  /** Where the evidence begins: for `API_KEY=x` at the name. */
  readonly from: number;
  /** Where the evidence ends, when it reaches past the secret itself. */
  readonly until?: number;
}
