import { expect, test } from "vitest";
import { createTextPage, splitLines } from "./text-page.ts";

const limits = { lines: 3, lineChars: 5, chars: 12 };

test("a page ends at the first limit that is reached, between lines", () => {
  expect(createTextPage(["a", "b", "c", "d"], 1, limits)).toMatchObject({
    lines: ["a", "b", "c"],
    complete: false,
  });
  expect(createTextPage(["12345", "12345", "x"], 1, limits)).toMatchObject({
    lines: ["12345", "12345"],
    complete: false,
  });
  expect(createTextPage(["a"], 1, limits)).toEqual({ lines: ["a"], cutLines: [], complete: true });
});

test("a long line is cut between characters and reported, and the first line is always shown", () => {
  expect(createTextPage(["x", "1234😀"], 7, limits)).toMatchObject({ lines: ["x", "1234"], cutLines: [8] });
  expect(createTextPage(["123456"], 1, { ...limits, chars: 2 })).toMatchObject({
    lines: ["12"],
    cutLines: [1],
  });
});

test("a final line ending does not start another line", () => {
  expect(splitLines("a\r\n\nb")).toEqual(["a", "", "b"]);
  expect(splitLines("a\n")).toEqual(["a"]);
  expect(splitLines("")).toEqual([]);
});
