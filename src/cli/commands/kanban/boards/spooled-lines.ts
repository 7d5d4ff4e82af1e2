import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";

const PIECE = 256 * 1024;

/** Collects lines and writes them in larger pieces. */
export class LineBuffer {
  readonly #write: (text: string) => void;
  #text = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length >= PIECE) this.flush();
  }

  flush(): void {
    this.#write(this.#text);
    this.#text = "";
  }
}

/** Lines in a temporary file, which can be read repeatedly without being held in memory. */
export class SpooledLines implements Iterable<string> {
  readonly #path: string;
  readonly #file: number;
  readonly #buffer = new LineBuffer((text) => writeSync(this.#file, text));

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, "wx", 0o600);
  }

  add(line: string): void {
    this.#buffer.add(line);
  }

  /** Call this after the last line. */
  finish(): void {
    this.#buffer.flush();
    closeSync(this.#file);
  }

  /** Synchronous, because the lines are read inside a transaction. */
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
