import type { Meter } from "./meter.ts";

/** Says that a quote or a substitution is not closed, so that nobody can tell what the shell would make of the text. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/** A place in a text that moves forward and charges the meter for every character it passes. */
export class Cursor {
  readonly text: string;
  readonly meter: Meter;
  at = 0;

  constructor(text: string, meter: Meter) {
    this.text = text;
    this.meter = meter;
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  /** The character `offset` places ahead; empty at the end. */
  peek(offset = 0): string {
    return this.text[this.at + offset] ?? "";
  }

  startsWith(prefix: string): boolean {
    return this.text.startsWith(prefix, this.at);
  }

  skip(count: number): void {
    this.meter.step(count);
    this.at += count;
  }

  take(): string {
    const character = this.peek();
    this.skip(1);
    return character;
  }

  /** Takes what a sticky pattern matches here; empty when it does not match. */
  match(sticky: RegExp): string {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0] ?? "";
    this.skip(found.length);
    return found;
  }

  /** Takes the text up to `end` and `end` itself. */
  until(end: string, what: string): string {
    const close = this.text.indexOf(end, this.at);
    if (close < 0) throw new Malformed(`${what} is not closed`);
    const found = this.text.slice(this.at, close);
    this.skip(found.length + end.length);
    return found;
  }
}
