import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const END = 4_096;

/** The last line of a log that says something; undefined while there is none. */
export function lastLineOf(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return undefined; // set aside just now
  }
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(END, size));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes
      .toString("utf8")
      .split("\n")
      .map((line) => line.trim())
      .findLast((line) => line !== "");
  } finally {
    closeSync(file);
  }
}
