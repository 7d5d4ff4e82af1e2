import { expect, test } from "vitest";
import { TypedLines } from "./typed-lines.ts";

const JOB = "proc_0123abcd";

/** The lines that are checked when the last piece is typed, after the others. */
function judged(...pieces: readonly string[]): string {
  const typed = new TypedLines();
  for (const piece of pieces.slice(0, -1)) typed.add(JOB, piece);
  return typed.lineWith("0123", pieces.at(-1) ?? "");
}

test.each([
  [["rm -rf ", "/\n"], "rm -rf /\n"],
  [["r", "m -r", "f ", "src\r"], "rm -rf src\n"],
  [["ls\nrm ", "-rf src"], "rm -rf src"],
  [["rn\x7fm -rf ", "src"], "rm -rf src"],
  [["xyz", "\x15rm -rf src"], "rm -rf src"],
  [["rm xyz\x17", "-rf src"], "rm -rf src"],
  [["rm \x1b[C", "-rf src"], "rm -rf src"],
  [["echo a\n", "ls\n"], "ls\n"],
  [["half a line\x03", "ls\n"], "ls\n"],
])("K4: a line that is typed in pieces is checked as a whole: %j", (pieces, line) => {
  expect(judged(...pieces)).toBe(line);
});

test("lines of other jobs do not count", () => {
  const typed = new TypedLines();
  typed.add("proc_ffffffff", "rm -rf ");
  expect(typed.lineWith("0123", "src")).toBe("src");
});
