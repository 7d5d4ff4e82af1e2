import type { Meter } from "./meter.ts";

/**
 * A text that charges the meter for every character that the parser reads with `charCodeAt`. Some texts, such as rows of `{`
 * or `$[`, make the parser read the same characters many times.
 */
export class MeteredText extends String {
  readonly #text: string;
  readonly #meter: Meter;

  constructor(text: string, meter: Meter) {
    super(text);
    this.#text = text;
    this.#meter = meter;
  }

  override charCodeAt(index: number): number {
    this.#meter.read();
    return this.#text.charCodeAt(index);
  }
}
