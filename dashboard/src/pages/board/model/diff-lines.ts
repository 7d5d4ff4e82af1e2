export interface DiffLine {
  readonly kind: "file" | "hunk" | "added" | "removed" | "same" | "note";
  readonly text: string;
  /** Line numbers before and after the change; null where the line does not exist. */
  readonly before: number | null;
  readonly after: number | null;
}

/** The lines of a unified diff with their numbers. Headers that repeat the file name are omitted. */
export function parseDiff(text: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const plain = { before: null, after: null };
    if (line.startsWith("diff --git ")) {
      inHunk = false;
      lines.push({ kind: "file", text: nameOf(line), ...plain });
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      inHunk = true;
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      lines.push({ kind: "hunk", text: line, ...plain });
    } else if (!inHunk) {
      if (/^(Binary files|rename |new file|deleted file|old mode|new mode)/.test(line))
        lines.push({ kind: "note", text: line, ...plain });
    } else if (line.startsWith("+"))
      lines.push({ kind: "added", text: line.slice(1), before: null, after: after++ });
    else if (line.startsWith("-"))
      lines.push({ kind: "removed", text: line.slice(1), before: before++, after: null });
    else if (line.startsWith("\\")) lines.push({ kind: "note", text: line.slice(2), ...plain });
    else lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
  }
  return lines;
}

/** The path after the change, from `diff --git a/x b/x`. */
function nameOf(line: string): string {
  const quoted = / "b\/((?:[^"\\]|\\.)*)"$/.exec(line);
  if (quoted) return quoted[1] ?? "";
  return / b\/(.*)$/.exec(line)?.[1] ?? line.slice("diff --git ".length);
}
