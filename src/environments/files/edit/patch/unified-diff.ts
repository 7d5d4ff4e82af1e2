import { structuredPatch } from "diff";
import { headOf } from "../../../../lib/text/shorten.ts";

const CONTEXT_LINES = 3;
const MAX_CHARS = 100_000;
/** A diff is for reading; a change of more lines is a rewrite of the file. */
const MAX_CHANGED_LINES = 5_000;
const TIMEOUT_MS = 1_000;
const LINE_CHARS = 2_000;

/** The change of one file in the format of `diff -u`; undefined stands for a missing file. Bounded in size and time. */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  return diffOf({ from: path, to: path }, before, after);
}

/** The diff of a renamed file. */
export function movedDiff(from: string, to: string, before: string, after: string): string {
  const renamed = `rename from ${from}\nrename to ${to}\n`;
  return before === after ? renamed : renamed + diffOf({ from, to }, before, after);
}

/** The diffs of several files as one text, bounded as a whole. */
export function joinDiffs(diffs: readonly string[]): string {
  const shown: string[] = [];
  let chars = 0;
  for (const diff of diffs.filter((text) => text !== "")) {
    if (chars + diff.length > MAX_CHARS && shown.length > 0) {
      return `${shown.join("")}... the diffs of ${diffs.length - shown.length} more files are not shown\n`;
    }
    shown.push(diff);
    chars += diff.length;
  }
  return shown.join("");
}

function diffOf(
  names: { readonly from: string; readonly to: string },
  before: string | undefined,
  after: string | undefined,
): string {
  if (before === after) return "";
  const header = `--- ${before === undefined ? "/dev/null" : `a/${names.from}`}\n+++ ${after === undefined ? "/dev/null" : `b/${names.to}`}\n`;
  const [old, now] = showEndings(before ?? "", after ?? "");
  const patch = structuredPatch("", "", old, now, "", "", {
    context: CONTEXT_LINES,
    maxEditLength: MAX_CHANGED_LINES,
    timeout: TIMEOUT_MS,
  });
  if (patch === undefined) {
    return `${header}... the diff is too large to show: ${countLines(old)} lines before, ${countLines(now)} lines now\n`;
  }
  let text = header;
  for (const [index, hunk] of patch.hunks.entries()) {
    const range = (start: number, lines: number): string =>
      lines === 1 ? `${start}` : `${lines === 0 ? start - 1 : start},${lines}`;
    const lines = hunk.lines.map(shorten).join("\n");
    const whole = `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@\n${lines}\n`;
    if (text.length + whole.length > MAX_CHARS) {
      return `${text}... ${patch.hunks.length - index} more hunks are not shown\n`;
    }
    text += whole;
  }
  return text;
}

/**
 * Hides carriage returns if all lines on both sides end with CRLF. Otherwise they are shown, because a line that only got
 * another ending would look unchanged.
 */
function showEndings(before: string, after: string): readonly [string, string] {
  if (!before.includes("\r\n") && !after.includes("\r\n")) return [before, after];
  const isCrlf = (text: string) => !/(^|[^\r])\n/.test(text);
  const shown = isCrlf(before) && isCrlf(after) ? "\n" : "\u240d\n";
  return [before.replaceAll("\r\n", shown), after.replaceAll("\r\n", shown)];
}

function shorten(line: string): string {
  return line.length > LINE_CHARS ? `${headOf(line, LINE_CHARS)}... (${line.length} characters)` : line;
}

function countLines(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
}
