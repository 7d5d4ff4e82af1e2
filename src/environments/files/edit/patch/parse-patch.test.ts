import { expect, test } from "vitest";
import { parsePatch } from "./parse-patch.ts";
import { patchPaths } from "./patch.ts";

const FILE_EXPECTED = "`*** Begin Patch`, `--- path`, or `diff --git` and its lines";

function changesOf(text: string, allowAbsolute = false) {
  const outcome = parsePatch(text, { allowAbsolute });
  if (outcome.kind !== "parsed")
    throw new Error(`line ${outcome.line}: expected ${outcome.expected}, found ${outcome.found}`);
  return outcome.patch.changes;
}

function envelope(...lines: string[]): string {
  return ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");
}

test("E4: an envelope holds updates with anchors, moves, additions and deletions", () => {
  const text = envelope(
    "*** Update File: src/a.ts",
    "*** Move to: src/b.ts",
    "@@ class A",
    "@@   method() {",
    " keep",
    "",
    "-old",
    "+new",
    "",
    "@@",
    "+tail",
    "*** End of File",
    "*** Add File: ./docs//new.md",
    "+# Title",
    "+",
    "*** Delete File: gone.txt",
  );
  const changes = changesOf(text);
  expect(changes).toEqual([
    {
      kind: "update",
      path: "src/a.ts",
      patchLine: 2,
      moveTo: "src/b.ts",
      hunks: [
        {
          patchLine: 4,
          linesBefore: undefined,
          anchors: ["class A", "method() {"],
          atEnd: false,
          statesFinalNewline: false,
          literal: false,
          lines: [
            { kind: "keep", text: "keep\n" },
            { kind: "keep", text: "\n" },
            { kind: "remove", text: "old\n" },
            { kind: "add", text: "new\n" },
          ],
        },
        {
          patchLine: 11,
          linesBefore: undefined,
          anchors: [],
          atEnd: true,
          statesFinalNewline: false,
          literal: false,
          lines: [{ kind: "add", text: "tail\n" }],
        },
      ],
    },
    { kind: "add", path: "docs/new.md", patchLine: 14, content: "# Title\n\n" },
    { kind: "delete", path: "gone.txt", patchLine: 17, hunks: undefined },
  ]);
  expect(patchPaths({ changes })).toEqual(["src/a.ts", "src/b.ts", "docs/new.md", "gone.txt"]);
});

test("E4: a unified diff of git holds renames, new and deleted files, quoted names and empty files", () => {
  const text = [
    "diff --git a/old.txt b/new.txt",
    "similarity index 100%",
    "rename from old.txt",
    "rename to new.txt",
    "diff --git a/empty b/empty",
    "new file mode 100644",
    "index 0000000..e69de29",
    'diff --git "a/f\\303\\251.txt" "b/f\\303\\251.txt"',
    "deleted file mode 100644",
    "index 1..0",
    '--- "a/f\\303\\251.txt"',
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-x",
    "\\ No newline at end of file",
    "--- /dev/null",
    "+++ b/added with space\t2026-01-01",
    "@@ -0,0 +1,2 @@",
    "+-- a",
    "+b",
    "",
  ].join("\n");
  expect(changesOf(text)).toMatchObject([
    { kind: "update", path: "old.txt", moveTo: "new.txt", hunks: [] },
    { kind: "add", path: "empty", content: "" },
    {
      kind: "delete",
      path: "fé.txt",
      hunks: [{ lines: [{ kind: "remove", text: "x" }], statesFinalNewline: true }],
    },
    { kind: "add", path: "added with space", content: "-- a\nb\n" },
  ]);
});

test("counts decide where a hunk ends, so removed lines may look like headers", () => {
  const [change] = changesOf(
    "--- f\n+++ f\n@@ -1,2 +1,2 @@ heading\n--- a\n+++ b\n c\n--- g\n+++ g\n@@ -1 +1 @@\n-x\n+y\n",
  );
  expect(change).toMatchObject({
    path: "f",
    hunks: [
      { linesBefore: 0, lines: [{ text: "-- a\n" }, { text: "++ b\n" }, { kind: "keep", text: "c\n" }] },
    ],
  });
});

test("the prefixes of git are removed only if both sides have them", () => {
  expect(changesOf("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n")).toMatchObject([{ path: "f" }]);
  expect(changesOf("--- a/f\n+++ a/f\n@@ -1 +1 @@\n-x\n+y\n")).toMatchObject([{ path: "a/f" }]);
});

test("a patch converted to CRLF is parsed like the original, and a CR that belongs to a file's line is kept", () => {
  const text = "--- f\n+++ f\n@@ -1 +1 @@\n-x\n+y\n";
  expect(changesOf(text.replaceAll("\n", "\r\n"))).toEqual(changesOf(text));
  expect(changesOf("--- f\n+++ f\n@@ -1 +1 @@\n-x\r\n+y\r\n")).toMatchObject([
    { hunks: [{ lines: [{ text: "x\r\n" }, { text: "y\r\n" }] }] },
  ]);
});

test.each([
  ["", 2, FILE_EXPECTED],
  ["hello", 1, FILE_EXPECTED],
  ["*** Update File: a\n@@\n-x\n", 1, "`*** Begin Patch`"],
  [
    "*** Begin Patch\n*** Update File: a\n@@\n-x\n",
    5,
    "a line of the hunk, which starts with ` `, `-` or `+`",
  ],
  [envelope(), 2, "at least one `*** Update File:`, `*** Add File:` or `*** Delete File:`"],
  [envelope("*** Update File: a"), 3, "a hunk: `@@` and lines that start with ` `, `-` or `+`"],
  [
    envelope("*** Update File: a", "@@", "-x", "oops"),
    5,
    "a line of the hunk, which starts with ` `, `-` or `+`",
  ],
  [envelope("*** Add File: a", "+x", "oops"), 4, "a line of the new file, which starts with `+`"],
  [`${envelope("*** Delete File: a")}oops`, 4, "nothing after `*** End Patch`"],
  ["--- f\n@@ -1 +1 @@\n", 2, "`+++ path`"],
  ["--- f\n+++ f\n", 3, "`@@ -line,count +line,count @@`"],
  ["--- f\n+++ f\n@@ x @@\n", 3, "`@@ -line,count +line,count @@`"],
  [
    "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-x\n+y\n",
    6,
    "1 more old and 1 more new lines, according to the header on line 3",
  ],
  ["--- f\n+++ f\n@@ -1 +1 @@\n-x\n+y\n+z\n", 6, FILE_EXPECTED],
  [
    "--- f\n+++ g\n@@ -1 +1 @@\n-x\n+y\n",
    2,
    "the path of the `---` line again, or `rename from` and `rename to` above",
  ],
  ["diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", 2, FILE_EXPECTED],
  [
    "diff --git a/f b/f\ndeleted file mode 120000\n",
    2,
    "mode 100644 or 100755, since a patch can only hold plain text files",
  ],
  [
    "diff --git a/f b/f\nnew file mode 120000\n",
    2,
    "mode 100644, since a patch can only hold plain text files",
  ],
])("a malformed patch names its line and what was expected: %j", (text, line, expected) => {
  expect(parsePatch(text)).toMatchObject({ kind: "malformed", line, expected });
});

test.each(["/etc/passwd", "~/x", "C:\\x", "../x", "a/../../x", "a\\..\\x", "", ".", "a/", "a\u0000b"])(
  "the path %j is refused on every kind of line",
  (path) => {
    const inEnvelope = [`*** Delete File: ${path}`, `*** Add File: ${path}`, `*** Update File: ${path}`];
    for (const line of inEnvelope)
      expect(parsePatch(envelope(line, "+x"))).toMatchObject({ kind: "malformed", line: 2 });
    const move = envelope("*** Update File: a", `*** Move to: ${path}`, "@@", "+x");
    expect(parsePatch(move)).toMatchObject({ kind: "malformed", line: 3 });
    expect(parsePatch(`--- /dev/null\n+++ ${path}\n@@ -0,0 +1 @@\n+x\n`)).toMatchObject({
      kind: "malformed",
      line: 2,
    });
    expect(parsePatch(`diff --git a/f b/f\nrename from f\nrename to ${path}\n`)).toMatchObject({
      kind: "malformed",
      line: 3,
    });
  },
);

test("an absolute path is accepted if the caller allows it, but never with `..`", () => {
  expect(changesOf(envelope("*** Delete File: /tmp/./x"), true)).toMatchObject([{ path: "/tmp/x" }]);
  expect(parsePatch(envelope("*** Delete File: /tmp/../x"), { allowAbsolute: true })).toMatchObject({
    kind: "malformed",
  });
});
