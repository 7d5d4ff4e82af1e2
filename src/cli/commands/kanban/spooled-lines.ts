import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";

const PIECE = 256 * 1024;

/** Lines in a file of their own, which can be read as often as needed without being held in memory. */
export class SpooledLines implements Iterable<string> {
  readonly #path: string;
  #file: number | undefined;
  #text = "";

  constructor(path: string) {
    this.#path = path;
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length >= PIECE) this.#flush();
  }

  /** All lines are there. */
  finish(): void {
    this.#flush();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #flush(): void {
    this.#file ??= openSync(this.#path, "wx", 0o600);
    writeSync(this.#file, this.#text);
    this.#text = "";
  }

  /** Without a pause: a transaction is filled with them. */
  *[Symbol.iterator](): Iterator<string> {
    const file = openSync(this.#path, "r");
    try {
      const decoder = new StringDecoder("utf8");
      const piece = Buffer.alloc(PIECE);
      let rest = "";
      for (let bytes = readSync(file, piece); bytes > 0; bytes = readSync(file, piece)) {
        const lines = (rest + decoder.write(piece.subarray(0, bytes))).split("\n");
        rest = lines.pop() ?? "";
        yield* lines;
      }
    } finally {
      closeSync(file);
    }
  }
}
