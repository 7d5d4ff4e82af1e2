import { createTwoFilesPatch } from "diff";
import { expect, test } from "vitest";
import { isDiff, numberDiff } from "./number-diff.ts";

const lines = (count: number, change: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: count }, (_, index) => `${change[index + 1] ?? `line ${index + 1}`}\n`).join("");
const diffOf = (before: string, after: string, name = "a.ts"): string =>
  createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, "", "", { context: 1 });
const shown = (diff: string): string[] => numberDiff(diff.trimEnd()).map(({ text }) => text);

test("a diff is shown with line numbers and signs", () => {
  expect(shown(diffOf(lines(50), lines(50, { 42: "--- changed" })))).toEqual([
    "   41  line 41",
    "   42 -line 42",
    "   42 +--- changed",
    "   43  line 43",
  ]);
});

test("lines between two hunks are omitted, and each of several files is named", () => {
  const one = diffOf(lines(50), lines(50, { 2: "two", 40: "forty" }));
  expect(shown(one).filter((row) => row.trim() === "…")).toHaveLength(1);
  const two = shown(one + diffOf("", "new\n", "b.ts"));
  expect(two.filter((row) => row.includes(".ts"))).toEqual(["    a.ts", "    b.ts"]);
  expect(two.at(-1)).toBe("    1 +new");
});

test("output with dashes is not a diff", () => {
  expect(isDiff("-----\n---\n+++ done")).toBe(false);
  expect(isDiff(diffOf("a\n", "b\n"))).toBe(true);
});
