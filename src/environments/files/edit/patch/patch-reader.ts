import { headOf } from "../../../../lib/text/shorten.ts";

/** Thrown only inside the parsers; `parsePatch` turns it into an outcome. */
export class PatchSyntaxError extends Error {
  override readonly name = "PatchSyntaxError";
  readonly line: number;
  readonly expected: string;
  readonly found: string;

  constructor(line: number, expected: string, found: string) {
    super(`line ${line}: expected ${expected}, found ${found}`);
    this.line = line;
    this.expected = expected;
    this.found = found;
  }
}

const SHOWN_CHARS = 80;

/** A cursor over the lines of a patch that adds the line number to errors. */
export class PatchReader {
  readonly #lines: readonly string[];
  readonly #allowAbsolute: boolean;
  #at = 0;

  constructor(lines: readonly string[], allowAbsolute: boolean) {
    this.#lines = lines;
    this.#allowAbsolute = allowAbsolute;
  }

  /** 1-based number of the line that `peek` returns. */
  get lineNumber(): number {
    return this.#at + 1;
  }

  peek(ahead = 0): string | undefined {
    return this.#lines[this.#at + ahead];
  }

  next(): string | undefined {
    const line = this.peek();
    this.#at += 1;
    return line;
  }

  skipBlank(): void {
    while (this.peek() === "") this.#at += 1;
  }

  fail(expected: string): never {
    const line = this.peek();
    const found = line === undefined ? "the end of the patch" : JSON.stringify(headOf(line, SHOWN_CHARS));
    throw new PatchSyntaxError(this.lineNumber, expected, found);
  }

  /** Normalises a path from the current line; refuses paths that could lead out of the folder. */
  path(raw: string): string {
    const path = raw.trim();
    const absolute = /^(\/|\\|~|[A-Za-z]:[\\/])/.test(path);
    if (absolute && !this.#allowAbsolute) this.fail("a relative path");
    const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
    if (segments.includes("..") || path.split("\\").includes("..")) this.fail("a path without `..`");
    const control = [...path].some((char) => char < " " || char === "\x7f");
    if (segments.length === 0 || control || /\/\.?$/.test(path)) this.fail("the path of a file");
    return (path.startsWith("/") ? "/" : "") + segments.join("/");
  }
}
