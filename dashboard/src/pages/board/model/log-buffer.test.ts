import { expect, test } from "vitest";
import { appendLog, MAX_LINES, openLog, plainLine, prependLog } from "./log-buffer.ts";

const piece = (text: string, from: number, part = "a") => ({ text, from, to: from + text.length, part });

test("pieces are joined in the middle of a line, and known parts are skipped", () => {
  const log = openLog(piece("one\ntw", 10));
  const more = appendLog(log, piece("o\nthree\n", 16));
  expect(more?.lines).toEqual(["one", "two", "three", ""]);
  expect(more && appendLog(more, piece("ree\n", 20))).toBe(more);
});

test("a gap, an overlap or a rotated log is read again", () => {
  const log = openLog(piece("one\n", 0));
  expect(appendLog(log, piece("x", 9))).toBeUndefined();
  expect(appendLog(log, piece("e\ntwo", 2))).toBeUndefined();
  expect(appendLog(log, piece("x", 4, "b"))).toBeUndefined();
});

test("earlier lines are prepended", () => {
  expect(prependLog(openLog(piece("ree\n", 9)), piece("one\nth", 3)).lines).toEqual(["one", "three", ""]);
});

test("only the last lines are kept", () => {
  const log = openLog(piece("x\n".repeat(MAX_LINES + 10), 0));
  expect(log.lines).toHaveLength(MAX_LINES);
  expect(log.dropped).toBe(11);
});

test("colours, control characters and marks that change the text direction are removed", () => {
  expect(plainLine("\x1b[31mred\x1b[0m \x1b]0;title\x07ok\x00\u202eevil")).toBe("red okevil");
  expect(plainLine("10%\r50%\r100%\r")).toBe("100%");
  expect(plainLine("tab\there")).toBe("tab\there");
});
