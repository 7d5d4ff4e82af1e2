import { Cursor } from "./cursor.ts";
import type { Redirection } from "./syntax.ts";
import { type ScriptReading, WordReader } from "./word-reader.ts";

/** The here-documents whose operator was read, and whose text begins behind the end of that line. */
export class HereDocuments {
  readonly #cursor: Cursor;
  readonly #scripts: ScriptReading;
  #pending: Redirection[] = [];

  constructor(cursor: Cursor, scripts: ScriptReading) {
    this.#cursor = cursor;
    this.#scripts = scripts;
  }

  /** Its target is the delimiter now, and the text after {@link readPending}. */
  expect(redirection: Redirection): void {
    this.#pending.push(redirection);
  }

  /** Takes the text of each expected document; the cursor stands at the beginning of a line. */
  readPending(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const redirection of pending) this.#read(redirection);
  }

  #read(redirection: Redirection): void {
    const quoted = redirection.target.some((piece) => piece.kind === "text" && piece.quoted);
    const delimiter = redirection.target.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
    const text = this.#takeText(delimiter, redirection.operator === "<<-");
    if (quoted) redirection.target = [{ kind: "text", text, quoted: true }];
    else redirection.target = this.#readBody(text);
  }

  #takeText(delimiter: string, stripsTabs: boolean): string {
    const cursor = this.#cursor;
    const lines: string[] = [];
    // A document without its delimiter reaches to the end, as it does in a shell.
    while (!cursor.done) {
      const raw = cursor.match(/[^\n]*/y);
      cursor.match(/\n/y);
      const line = stripsTabs ? raw.replace(/^\t+/, "") : raw;
      if (line === delimiter) break;
      lines.push(`${line}\n`);
    }
    return lines.join("");
  }

  #readBody(text: string): Redirection["target"] {
    const { meter } = this.#cursor;
    const body = new Cursor(text, meter);
    return meter.within(() => new WordReader(body, this.#scripts).readHereDocument());
  }
}
