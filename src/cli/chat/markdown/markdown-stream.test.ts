import fc from "fast-check";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { createMarkdownStream } from "./markdown-stream.ts";

const plain = createColors(false);

function open(columns = 40, wraps = true) {
  return createMarkdownStream({
    ...{ colours: plain, columns: () => columns, wrapsProse: () => wraps },
    highlight: (line) => line,
  });
}

function printWhole(text: string, columns?: number): string[] {
  const stream = open(columns);
  return [...stream.push(text), ...stream.end()];
}

const ANSWER = `# Two ways

The test creates a **user** in one transaction and reads it in \`another\`, so it sees nothing.

- commit before reading, which costs a millisecond on this machine
- share it

\`\`\`ts
const user = await findUser(id); // a very long line of code that is never broken
\`\`\`

| way | cost |
|---|---:|
| commit | 1 ms |

See https://example.com/a/very/long/address/that/does/not/fit/into/one/row for more.
`;

test("C14: with `display.wrap: terminal` no line of an answer is broken", () => {
  const words = "word ".repeat(1_000).trim();
  const text = `# Title\n\n- **${words.slice(0, 999)}**\n\n${words}\n`;
  const stream = open(40, false);
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += 7) lines.push(...stream.push(text.slice(at, at + 7)));
  lines.push(...stream.end());
  expect(lines.slice(0, 4)).toEqual(["Title", "", `- ${words.slice(0, 999)}`, ""]);
  expect(lines.slice(4).join(" ")).toBe(words);
  expect(lines).toHaveLength(6); // a line without end is printed in parts
});

test("C13: code and addresses are printed as the model wrote them, and are never broken", () => {
  const lines = printWhole(ANSWER);
  expect(lines).toContain(
    "const user = await findUser(id); // a very long line of code that is never broken",
  );
  expect(lines).toContain("https://example.com/a/very/long/address/that/does/not/fit/into/one/row");
});

test("C14: prose is broken between words, at most 100 columns wide", () => {
  const words = "word ".repeat(60).trim();
  expect(Math.max(...printWhole(words, 40).map((line) => line.length))).toBeLessThanOrEqual(39);
  expect(Math.max(...printWhole(words, 200).map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(printWhole(words, 40).join(" ")).toBe(words);
});

test("marks of headings, lists and tables become a layout", () => {
  expect(printWhole("## Title\n\n* one\n1. two\n- [x] done\n\n| a | bb |\n|---|---|\n| ccc | d |\n")).toEqual(
    ["Title", "", "- one", "1. two", "- [x] done", "", "a    bb", "ccc  d"],
  );
});

test("C3: wherever the pieces are cut, the same lines are printed, each of them once", () => {
  const whole = printWhole(ANSWER);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (lengths) => {
      const stream = open();
      const lines: string[] = [];
      let at = 0;
      for (let index = 0; at < ANSWER.length; index++) {
        const length = lengths[index % lengths.length] ?? 1;
        lines.push(...stream.push(ANSWER.slice(at, at + length)));
        at += length;
      }
      expect([...lines, ...stream.end()]).toEqual(whole);
    }),
    { numRuns: 50 },
  );
});

test("C1, C3: whatever widths the window has while a paragraph arrives, each word is printed once and in order", () => {
  const words = Array.from({ length: 120 }, (_, at) => `word${at}`);
  const text = `- ${words.join(" ")}`;
  const step = fc.record({
    length: fc.integer({ min: 1, max: 60 }),
    width: fc.integer({ min: 10, max: 120 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      let width = 80;
      const stream = createMarkdownStream({
        colours: plain,
        columns: () => width,
        wrapsProse: () => true,
        highlight: (line) => line,
      });
      const lines: string[] = [];
      let at = 0;
      for (let index = 0; at < text.length; index++) {
        const { length, width: next } = steps[index % steps.length] ?? { length: 1, width };
        width = next;
        lines.push(...stream.push(text.slice(at, at + length)));
        at += length;
      }
      expect([...lines, ...stream.end()].join(" ").match(/word\d+/g)).toEqual(words);
    }),
    { numRuns: 100 },
  );
});

test("C12: text without spaces is broken between its characters, but not before a full stop", () => {
  const text = "这是一个很长的段落。".repeat(8);
  const lines = printWhole(text, 20);
  expect(lines.join("")).toBe(text);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(10);
  expect(lines.some((line) => line.startsWith("。"))).toBe(false);
});

test("C3: a row is not final while an emphasis, a code span or a link in it is open", () => {
  const stream = open(20);
  const lines = stream.push("some **words that are bold and many more of them");
  expect(lines).toEqual([]);
  expect(stream.push("** end").join(" ")).toContain("some words that");
});

test("the unfinished row is shown while it grows, character by character", () => {
  const stream = open();
  stream.push("Hel");
  expect(stream.tail()).toEqual(["Hel"]);
  stream.push("lo");
  expect(stream.tail()).toEqual(["Hello"]);
  expect(stream.end()).toEqual(["Hello"]);
  expect(stream.tail()).toEqual([]);
});

test("a line of a million characters is printed in parts, in linear time", () => {
  const stream = open();
  const lines: string[] = [];
  for (let count = 0; count < 2_500; count++) lines.push(...stream.push("four ".repeat(80)));
  expect([...lines, ...stream.end()].join(" ").length).toBeGreaterThan(990_000);
});

test("C40: control characters of an answer do not reach the terminal", () => {
  expect(printWhole("a\u001b[2Jb\u009bc\u202ed").join("")).toBe("a�[2Jb�c�d");
});
