import { expect, test } from "vitest";
import { splitText } from "./split-text.ts";

const plain = { maxTextLength: 40, textUnit: "code-points", markdown: "none" } as const;
const rendered = { maxTextLength: 200, textUnit: "utf16", markdown: "rendered" } as const;

test("a text that fits stays one part", () => {
  expect(splitText("  short \n", plain)).toEqual(["short"]);
  expect(splitText(" \n ", plain)).toEqual([]);
});

test("E1: a long text is divided between paragraphs, else lines, else sentences, else words", () => {
  expect(splitText("A first paragraph here.\n\nA second paragraph.", plain)).toEqual([
    "A first paragraph here.",
    "A second paragraph.",
  ]);
  expect(splitText("One line that is long\nanother line that is long", plain)).toEqual([
    "One line that is long",
    "another line that is long",
  ]);
  expect(splitText("words and words and words and words and more words", plain)).toEqual([
    "words and words and words and words and",
    "more words",
  ]);
});

test("a text without any boundary is divided too, but never within a character", () => {
  const parts = splitText("😀".repeat(100), { ...plain, textUnit: "bytes" });
  expect(parts.join("")).toBe("😀".repeat(100));
  for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(40);
});

test("every unit is respected", () => {
  const text = "Grüße aus Köln, 😀 und noch viel mehr Text ohne Ende. ".repeat(20);
  for (const textUnit of ["code-points", "utf16", "bytes"] as const) {
    const measure = {
      "code-points": (t: string) => [...t].length,
      utf16: (t: string) => t.length,
      bytes: Buffer.byteLength,
    };
    for (const part of splitText(text, { ...plain, textUnit }))
      expect(measure[textUnit](part)).toBeLessThanOrEqual(40);
  }
});

test("E1: escape sequences and control characters reach no chat", () => {
  expect(splitText("\u001b[1;31mred\u001b[0m\u0000 \u0007and\r\n\tgreen\u007f", plain)).toEqual([
    "red and\n\tgreen",
  ]);
});

test("E1: a text of a megabyte is cut after twenty parts, which says so", () => {
  const parts = splitText("word ".repeat(200_000), { ...plain, textUnit: "bytes", maxTextLength: 400 });
  expect(parts).toHaveLength(20);
  expect(parts.at(-1)).toMatch(/^\[… 99\d{4} more characters\]$/);
});

test("E1: a divided code block is closed and reopened in each part", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `console.log(${index});`);
  const text = `Look:\n\n\`\`\`ts\n${lines.join("\n")}\n\`\`\`\n\nDone.`;
  const parts = splitText(text, rendered);
  expect(parts.length).toBeGreaterThan(2);
  for (const part of parts) {
    expect(part.length).toBeLessThanOrEqual(200);
    expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
  }
  const code = parts
    .join("\n")
    .split("\n")
    .filter((line) => line.startsWith("console"));
  expect(code).toEqual(lines);
});
