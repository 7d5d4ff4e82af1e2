import { expect, test } from "vitest";
import { applyPatch, type PatchOutcome } from "./apply-patch.ts";
import { parsePatch } from "./parse-patch.ts";
import { patchPaths } from "./patch.ts";

function apply(text: string, contents: Readonly<Record<string, string>>): PatchOutcome {
  const outcome = parsePatch(text);
  if (outcome.kind !== "parsed")
    throw new Error(`line ${outcome.line}: expected ${outcome.expected}, found ${outcome.found}`);
  return applyPatch(outcome.patch, new Map(patchPaths(outcome.patch).map((path) => [path, contents[path]])));
}

/** The new content of the only file, or the problems. */
function update(content: string, ...hunk: string[]): unknown {
  const outcome = apply(envelope("*** Update File: f", ...hunk), { f: content });
  return outcome.kind === "planned" ? outcome.files.get("f") : outcome.problems;
}

function applyUnified(content: string, ...hunk: string[]): unknown {
  const outcome = apply(["--- f", "+++ f", ...hunk, ""].join("\n"), { f: content });
  return outcome.kind === "planned" ? outcome.files.get("f") : outcome.problems;
}

function envelope(...lines: string[]): string {
  return ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");
}

test("E4: one patch updates, moves, adds and deletes files", () => {
  const text = envelope(
    "*** Update File: a",
    "@@",
    "-1",
    "+one",
    "*** Update File: b",
    "*** Move to: dir/b",
    "@@",
    " 2",
    "+two",
    "*** Add File: c",
    "+3",
    "*** Delete File: d",
    "*** Update File: a",
    "@@",
    " one",
    "+again",
  );
  expect(apply(text, { a: "1\n", b: "2\n", d: "4\n" })).toEqual({
    kind: "planned",
    files: new Map([
      ["a", "one\nagain\n"],
      ["b", undefined],
      ["dir/b", "2\ntwo\n"],
      ["c", "3\n"],
      ["d", undefined],
    ]),
    moves: [{ from: "b", to: "dir/b" }],
    placements: [
      { path: "a", hunk: 1, line: 1, movedBy: 0, tolerance: "exact" },
      { path: "b", hunk: 1, line: 1, movedBy: 0, tolerance: "exact" },
      { path: "a", hunk: 1, line: 1, movedBy: 0, tolerance: "exact" },
    ],
  });
});

test("E4: one bad hunk fails the whole patch, and every problem is listed", () => {
  const text = envelope(
    "*** Update File: good",
    "@@",
    "-x",
    "+y",
    "*** Update File: bad",
    "@@",
    "-return a - b;",
    "+return 0;",
    "@@",
    "-x",
    "+y",
    "@@ class Missing",
    "+z",
    "@@",
    "+nowhere",
    "*** Add File: there",
    "+1",
    "*** Delete File: gone",
    "*** Update File: good",
    "*** Move to: there",
  );
  const outcome = apply(text, { good: "x\n", bad: "x\n  return a + b;\nx\n", there: "0\n" });
  expect(outcome).toMatchObject({
    kind: "refused",
    problems: [
      {
        path: "bad",
        hunk: 1,
        patchLine: 7,
        reason: "not-found",
        nearest: { line: 2, lines: ["  return a + b;"] },
      },
      {
        path: "bad",
        hunk: 2,
        patchLine: 10,
        reason: "ambiguous",
        message: expect.stringContaining("lines 1, 3"),
      },
      { path: "bad", hunk: 3, patchLine: 13, reason: "anchor-not-found" },
      { path: "bad", hunk: 4, patchLine: 15, reason: "nowhere" },
      { path: "there", hunk: undefined, patchLine: 17, reason: "file-exists" },
      { path: "gone", reason: "file-missing" },
      { path: "there", reason: "file-exists", message: expect.stringContaining("good") },
    ],
  });
  expect(outcome).not.toHaveProperty("files");
});

test("a file whose content was not passed does not count as missing", () => {
  const outcome = parsePatch(envelope("*** Add File: a", "+x"));
  if (outcome.kind !== "parsed") throw new Error("not parsed");
  expect(() => applyPatch(outcome.patch, new Map())).toThrow("the content of a was not passed");
});

test("a hunk is applied at its stated line, else at the nearest match, and shifts later hunks by the same distance", () => {
  const file = "x\na\nx\nb\nx\n";
  expect(applyUnified(file, "@@ -3 +3 @@", "-x", "+y")).toBe("x\na\ny\nb\nx\n");
  expect(applyUnified(file, "@@ -9 +9 @@", "-x", "+y")).toBe("x\na\nx\nb\ny\n");
  expect(applyUnified(`0\n0\n${file}`, "@@ -1,2 +1,2 @@", "-x", "+y", " a", "@@ -5 +5 @@", "-x", "+y")).toBe(
    "0\n0\ny\na\nx\nb\ny\n",
  );
});

test("a hunk with two equally near matches is a problem", () => {
  expect(applyUnified("x\na\nx\n", "@@ -2 +2 @@", "-x", "+y")).toMatchObject([{ reason: "ambiguous" }]);
  expect(update("x\na\nx\n", "@@", "-x", "+y")).toMatchObject([{ reason: "ambiguous" }]);
  expect(update("a b\na  b\n", "@@", "-a   b", "+y")).toMatchObject([{ reason: "ambiguous" }]);
});

test("anchors, the end of the file and an earlier hunk each decide between equal matches", () => {
  const file = "class A {\n  f() {\n    x\n  }\n}\nclass B {\n  f() {\n    x\n  }\n}\n";
  const edited = "class A {\n  f() {\n    x\n  }\n}\nclass B {\n  f() {\n    y\n  }\n}\n";
  expect(update(file, "@@ class B {", "-    x", "+    y")).toBe(edited);
  expect(update(file, "@@ class B", "@@   f() {", "-    x", "+    y")).toBe(edited);
  expect(update(file, "@@   f() {", "-    x", "+    y")).toMatchObject([{ reason: "ambiguous" }]);
  expect(update(file, "@@", " class B {", "@@", "-    x", "+    y")).toBe(edited);
  expect(update("x\nx\n", "@@", "-x", "+y", "*** End of File")).toBe("x\ny\n");
});

test("lines are inserted below a unique anchor or at the end", () => {
  expect(update("a\nb\n", "@@ a", "+x")).toBe("a\nx\nb\n");
  expect(update("a\na\n", "@@ a", "+x")).toMatchObject([{ reason: "ambiguous" }]);
  expect(update("a\r\nb", "@@", "+x", "*** End of File")).toBe("a\r\nb\r\nx");
  expect(update("", "@@", "+x")).toBe("x\n");
});

test("a patch with plain newlines keeps the file's CRLF, trailing whitespace and missing final newline", () => {
  expect(update("a\r\nb  \r\nc", "@@", " a", " b", "-c", "+d", "+e")).toBe("a\r\nb  \r\nd\r\ne");
  expect(applyUnified("a\r\nb\r\n", "@@ -1,2 +1,3 @@", " a", "+x", " b")).toBe("a\r\nx\r\nb\r\n");
  expect(applyUnified("a\nb", "@@ -1,2 +1,2 @@", "-a", "+x", " b")).toBe("x\nb");
  expect(update("say “a”\n", "@@", ' say "a"', "+b")).toBe("say “a”\nb\n");
});

test("a hunk with another indentation matches lines with the same nesting, and its added lines are re-indented", () => {
  expect(
    update("\tif a {\n\t\tb\n\t}\n", "@@", " if a {", "-    b", "+    if c {", "+        d", "+    }", " }"),
  ).toBe("\tif a {\n\t\tif c {\n\t\t\td\n\t\t}\n\t}\n");
  expect(update("  a\n", "@@", "-a", "+b")).toBe("  b\n");
  expect(update("a\n  b\nc\n", "@@", " a", "   b", "-  c", "+  d")).toMatchObject([{ reason: "not-found" }]);
  expect(update("\ta\n", "@@", "-    a", "+  b")).toMatchObject([{ reason: "not-found" }]);
});

test("a diff that deletes a file must remove all of it", () => {
  const text = "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
  expect(apply(text, { f: "x\n" })).toMatchObject({ kind: "planned", files: new Map([["f", undefined]]) });
  expect(apply(text, { f: "x\ny\n" })).toMatchObject({ problems: [{ path: "f", reason: "content-left" }] });
  const empty = "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n";
  expect(apply(empty, { f: "" })).toMatchObject({ kind: "planned", files: new Map([["f", undefined]]) });
  expect(apply(empty, { f: "y\n" })).toMatchObject({ problems: [{ path: "f", reason: "content-left" }] });
});

test("a hunk of many equal lines in a file of many more is located in linear time", () => {
  const hunk = Array.from({ length: 20_000 }, () => " x");
  expect(update("x\n".repeat(60_000), "@@", ...hunk, "-y")).toMatchObject([{ reason: "not-found" }]);
});
