import fc from "fast-check";
import { expect, test } from "vitest";
import { scale } from "../../../../test/support/scale.ts";
import { replaceText } from "./replace-text.ts";

const once = { all: false };

/** The new content and the strategy, or the whole outcome when nothing was replaced. */
function resultOfReplacing(content: string, oldText: string, newText: string, all = false): unknown {
  const outcome = replaceText(content, oldText, newText, { all });
  return outcome.kind === "replaced" ? [outcome.strategy, outcome.content] : outcome;
}

test("E4: an exact match is replaced and its range names offsets and lines of the new content", () => {
  expect(replaceText("a\nb\nc\n", "b\n", "x\ny\n", once)).toEqual({
    kind: "replaced",
    content: "a\nx\ny\nc\n",
    count: 1,
    strategy: "exact",
    ranges: [{ start: 2, end: 6, fromLine: 2, toLine: 3 }],
  });
});

test("E4: a text that occurs twice is ambiguous, even if the two occurrences overlap", () => {
  expect(replaceText("x = 1\ny\nx = 1\n", "x = 1", "x = 2", once)).toEqual({
    kind: "ambiguous",
    count: 2,
    lines: [1, 3],
  });
  expect(replaceText("aaa", "aa", "b", once)).toMatchObject({ kind: "ambiguous", count: 2 });
  expect(replaceText("  x\n  x\n  x\n", "    x\n    x\n", "y\n", once)).toMatchObject({ kind: "ambiguous" });
  expect(replaceText("a “b”\na ”b“\n", 'a "b"', "c", once)).toMatchObject({
    kind: "ambiguous",
    lines: [1, 2],
  });
});

test("all replaces every match of the first strategy that finds any", () => {
  expect(replaceText("x x\nx\n", "x", "yy", { all: true })).toEqual({
    kind: "replaced",
    content: "yy yy\nyy\n",
    count: 3,
    strategy: "exact",
    ranges: [
      { start: 0, end: 2, fromLine: 1, toLine: 1 },
      { start: 3, end: 5, fromLine: 1, toLine: 1 },
      { start: 6, end: 8, fromLine: 2, toLine: 2 },
    ],
  });
  expect(resultOfReplacing("aaa", "aa", "b", true)).toEqual(["exact", "ba"]);
  expect(resultOfReplacing("f(a,  b)\nf(a,   b)\n", "f(a, b)", "g()", true)).toEqual([
    "inner-whitespace",
    "g()\ng()\n",
  ]);
});

test("the file's line endings take precedence over those of the texts", () => {
  expect(resultOfReplacing("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n")).toEqual([
    "line-endings",
    "a\r\nx\r\ny\r\nc\r\n",
  ]);
  expect(resultOfReplacing("a\r\nb\r\n", "b", "x\ny")).toEqual(["exact", "a\r\nx\r\ny\r\n"]);
  expect(resultOfReplacing("a\nb\n", "a\r\nb", "x\r\ny")).toEqual(["line-endings", "x\ny\n"]);
  expect(resultOfReplacing("a\r\nb\nc\n", "a\nb\nc\n", "a\nb\nd\n")).toEqual([
    "line-endings",
    "a\r\nb\nd\r\n",
  ]);
});

test("a match that starts or ends between lines never splits a line ending", () => {
  expect(resultOfReplacing("a\r\nb\r\nc\r\n", "a\nb", "x")).toEqual(["line-endings", "x\r\nc\r\n"]);
  expect(resultOfReplacing("a\r\nb\r\nc\r\n", "\nb\n", "\nx\ny\n")).toEqual([
    "line-endings",
    "a\r\nx\r\ny\r\nc\r\n",
  ]);
  expect(resultOfReplacing("a\r\nb\r\n", "\nb", "")).toEqual(["exact", "a\r\n"]);
  expect(resultOfReplacing("a\r\nb\r\n", "\nb", "\nx\ny")).toEqual(["exact", "a\r\nx\r\ny\r\n"]);
  expect(resultOfReplacing("a \nb  \nc\n", "a\nb", "x")).toEqual(["trailing-whitespace", "x  \nc\n"]);
  expect(resultOfReplacing("f(a,  b)  + c\n", "(a, b) +", "() +")).toEqual(["inner-whitespace", "f() + c\n"]);
});

test("trailing whitespace is ignored, and unchanged lines keep theirs", () => {
  expect(resultOfReplacing("a  \nb\t\nc \n", "a\nb\nc\n", "a\nx\nc\n")).toEqual([
    "trailing-whitespace",
    "a  \nx\nc \n",
  ]);
  expect(resultOfReplacing("a\nb\n", "a \nb ", "x")).toEqual(["trailing-whitespace", "x\n"]);
});

test("a text whose trailing whitespace is ignored matches only at the end of a line", () => {
  expect(resultOfReplacing("foobar\n", "foo ", "x")).toMatchObject({ kind: "not-found" });
  expect(resultOfReplacing("foobar foo\n", "foo ", "x")).toEqual(["trailing-whitespace", "foobar x\n"]);
});

test("a block with another indentation is found, and the new text is re-indented", () => {
  const file = "class A:\n        def f():\n            return 1\n\n        # end\n";
  const oldText = "    def f():\n        return 1\n";
  const newText = "    def f():\n        if x:\n            return 2\n\ntop()\n";
  expect(resultOfReplacing(file, oldText, newText)).toEqual([
    "indentation",
    "class A:\n        def f():\n            if x:\n                return 2\n\n    top()\n\n        # end\n",
  ]);
  expect(
    resultOfReplacing("\tif a {\n\t\tb\n\t}\n", "    if a {\n    \tb\n    }", "    if a {\n    \tc\n    }"),
  ).toEqual(["indentation", "\tif a {\n\t\tc\n\t}\n"]);
  expect(resultOfReplacing("  a\n", "    a\n", "  b\n      c\n")).toEqual(["indentation", "b\n    c\n"]);
});

test("a block with other indentation steps is found, and the new text gets the steps of the file", () => {
  expect(
    resultOfReplacing(
      "\tif a {\n\t\tb\n\t}\n",
      "if a {\n    b\n}",
      "if a {\n    if c {\n        b\n    }\n}",
    ),
  ).toEqual(["indentation", "\tif a {\n\t\tif c {\n\t\t\tb\n\t\t}\n\t}\n"]);
  expect(
    resultOfReplacing("def f():\n  a\n", "def f():\n    a\n", "def f():\n    if b:\n        a\n"),
  ).toEqual(["indentation", "def f():\n  if b:\n    a\n"]);
  expect(resultOfReplacing("\ta()\n", "    a()\n", "    b(\n        c\n    )\n")).toEqual([
    "indentation",
    "\tb(\n\t\tc\n\t)\n",
  ]);
});

test("a block that is nested differently, or whose new text cannot be re-indented, is not found", () => {
  expect(resultOfReplacing("a\n  b\nc\n", "a\n  b\n  c\n", "x\n")).toMatchObject({ kind: "not-found" });
  expect(resultOfReplacing("if a:\n  b\n  c\n", "if a:\n  b\n    c\n", "x\n")).toMatchObject({
    kind: "not-found",
  });
  expect(resultOfReplacing("\ta\n", "    a\n", "  b\n")).toMatchObject({ kind: "not-found" });
});

test("whitespace inside lines and typographic punctuation are ignored, indentation is not", () => {
  expect(resultOfReplacing("let  a =\t1;\n", "let a = 1;", "let a = 2;")).toEqual([
    "inner-whitespace",
    "let a = 2;\n",
  ]);
  expect(resultOfReplacing("say “it’s” – now\u00a0\n", 'say "it\'s" - now\n', "no\n")).toEqual([
    "punctuation",
    "no\n",
  ]);
  expect(resultOfReplacing("a\u00a0b and “c”\nd\n", 'a b and "c"\nd', 'a b and "c"\ne')).toEqual([
    "punctuation",
    "a\u00a0b and “c”\ne\n",
  ]);
});

test("a text that is not found is reported with the most similar lines", () => {
  const file = "import x\n\nfunction add(a, b) {\n  return a + b;\n}\n";
  expect(replaceText(file, "function add(a, b) {\n  return a - b;\n}\n", "", once)).toEqual({
    kind: "not-found",
    nearest: { line: 3, lines: ["function add(a, b) {", "  return a + b;", "}"] },
  });
  expect(replaceText(file, "function addd(a, b)", "", once)).toMatchObject({ nearest: { line: 3 } });
  expect(replaceText(file, "zzz", "", once)).toEqual({ kind: "not-found", nearest: undefined });
  expect(replaceText("", "zzz", "", once)).toEqual({ kind: "not-found", nearest: undefined });
});

test("the suggestion is the position most similar to the whole block, not the first occurrence of a frequent line", () => {
  const block = (name: string) =>
    `function ${name}(a, b) {\n  if (!a) {\n    return;\n  }\n  return ${name}s(a) + b;\n}\n`;
  const names = ["open", "close", "total", "remove", "update"];
  const file = names.map(block).join("\n");
  const wanted = block("total").replace("+ b", "- b").replace("(!a)", "(a == null)");
  expect(replaceText(file, wanted, "", once)).toMatchObject({ kind: "not-found", nearest: { line: 15 } });
  expect(replaceText(file, "}\n\nfunction updates(a, c) {\n", "", once)).toMatchObject({
    nearest: { line: 27 },
  });
});

test("a miss in a large file is fast and still suggests the most similar lines", () => {
  const lines = Array.from(
    { length: 200_000 },
    (_, n) => `  const value${n} = compute(${n}, "some text here"); // ok\n`,
  );
  const content = lines.join("");
  const outcome = replaceText(content, '  const value77 = computed(77, "some text here");\n', "", once);
  expect(outcome).toMatchObject({ kind: "not-found", nearest: { line: 78 } });
});

test("empty and blank texts are never matched loosely", () => {
  expect(replaceText("abc", "", "x", once)).toMatchObject({ kind: "not-found" });
  expect(replaceText("", "", "x", once)).toMatchObject({ kind: "not-found" });
  expect(replaceText("a\n\nb", "  \n", "x", once)).toMatchObject({ kind: "not-found" });
});

test("an edit that changes nothing is reported as unchanged", () => {
  expect(replaceText("a\r\nb\r\n", "a\nb", "a\nb", once)).toEqual({ kind: "unchanged" });
});

test("long repetitive texts are searched in linear time", () => {
  const file = "ab ".repeat(200_000);
  expect(replaceText(file, "ab ".repeat(100_000), "", once)).toMatchObject({ kind: "ambiguous" });
  expect(replaceText("x\n".repeat(100_000), `${"x\n".repeat(50_000)}y`, "", once)).toMatchObject({
    kind: "not-found",
  });
  expect(replaceText(`${" ".repeat(300_000)}x`, "x  y", "", once)).toMatchObject({ kind: "not-found" });
});

test("E4: random exact replacements give the same result as the standard library", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "\t", "\n", "é", "“", "😀"), maxLength: 30 });
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 2, maxLength: 4 }),
      text,
      text,
      fc.boolean(),
      (parts, some, newText, all) => {
        const oldText = `${some}a`;
        const content = parts.join(oldText);
        const outcome = replaceText(content, oldText, newText, { all });
        const twice = content.indexOf(oldText) !== content.lastIndexOf(oldText);
        const expected = content.replaceAll(oldText, () => newText);
        if (twice && !all) {
          expect(outcome.kind).toBe("ambiguous");
        } else if (expected === content) {
          expect(outcome).toEqual({ kind: "unchanged" });
        } else {
          expect(outcome).toMatchObject({ kind: "replaced", strategy: "exact", content: expected });
          const ranges = outcome.kind === "replaced" ? outcome.ranges : [];
          for (const { start, end } of ranges) expect(expected.slice(start, end)).toBe(newText);
        }
      },
    ),
    { numRuns: scale.edits },
  );
});

test("searches with distorted whitespace, line endings and quotes change nothing outside their lines", () => {
  const word = fc.constantFrom("alpha", "it’s", "“b”", "x–y", "c  d", "e\tf");
  const line = fc.tuple(fc.constantFrom("", "  ", "\t"), word, fc.constantFrom("", " ", "  "));
  const lines = fc.array(line, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(lines, fc.nat(), fc.nat(), fc.constantFrom("\n", "\r\n"), (parts, a, b, ending) => {
      const own = parts.map(([indent, text, blanks], at) => `${indent}${at}${text}${blanks}${ending}`);
      const from = a % own.length;
      const to = from + 1 + (b % (own.length - from));
      const plain = (text: string) =>
        text
          .replace(/[“”]/g, '"')
          .replace("’", "'")
          .replace("–", "-")
          .replace(/[ \t]*\r?\n/g, "\n")
          .replace(/(?<=\S)[ \t]+/g, " ");
      const outcome = replaceText(own.join(""), plain(own.slice(from, to).join("")), "NEW\n", once);
      const expected = [...own.slice(0, from), `NEW${ending}`, ...own.slice(to)].join("");
      expect(outcome).toMatchObject({ kind: "replaced", content: expected });
    }),
    { numRuns: scale.edits },
  );
});
