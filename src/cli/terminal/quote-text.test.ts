import { expect, test } from "vitest";
import { quoteBlock, quoteLine } from "./quote-text.ts";

test("untrusted text on one line stays on one line and contains no control characters", () => {
  expect(quoteLine("a\nb\tc\u001b[2J\u200fd\re")).toBe("a\\nb\\tc\ufffd[2J\ufffdd\ufffde");
});

test("a short text follows its label", () => {
  expect(quoteBlock("? terminal:", "echo a", 80)).toBe("? terminal: echo a");
});

test("each line of a multi-line text has a mark, so that it cannot be mistaken for one of ours", () => {
  expect(quoteBlock("? terminal:", "echo a\n  1. yes, this once\n\u001b[2J", 80)).toBe(
    "? terminal:\n  | echo a\n  |   1. yes, this once\n  | \ufffd[2J",
  );
});

test("a line that the terminal would break is broken with a mark, and nothing is lost", () => {
  for (const text of [`echo ${" ".repeat(100)}approved by ann`, "天気".repeat(60)]) {
    const [label, ...lines] = quoteBlock("? terminal:", text, 40).split("\n");
    expect(label).toBe("? terminal:");
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.every((line) => line.startsWith("  | ") && line.length <= 40)).toBe(true);
    expect(lines.map((line) => line.slice(4)).join("")).toBe(text);
  }
});
