import { expect, test } from "vitest";
import { parseDiff } from "./diff-lines.ts";

const DIFF = `diff --git a/src/next path.ts b/src/next path.ts
index 1..2 100644
--- a/src/next path.ts
+++ b/src/next path.ts
@@ -3,3 +3,4 @@ export function
 same
-old
+new
+--- looks like a header
 end
\\ No newline at end of file
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
`;

test("a diff is read with the line numbers of both sides", () => {
  expect(parseDiff(DIFF)).toEqual([
    { kind: "file", text: "src/next path.ts", before: null, after: null },
    { kind: "hunk", text: "@@ -3,3 +3,4 @@ export function", before: null, after: null },
    { kind: "same", text: "same", before: 3, after: 3 },
    { kind: "removed", text: "old", before: 4, after: null },
    { kind: "added", text: "new", before: null, after: 4 },
    { kind: "added", text: "--- looks like a header", before: null, after: 5 },
    { kind: "same", text: "end", before: 5, after: 6 },
    { kind: "note", text: "No newline at end of file", before: null, after: null },
    { kind: "file", text: "logo.png", before: null, after: null },
    { kind: "note", text: "Binary files a/logo.png and b/logo.png differ", before: null, after: null },
  ]);
});
