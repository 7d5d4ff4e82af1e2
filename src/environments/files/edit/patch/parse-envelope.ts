import type { FileChange, Hunk, HunkLine } from "./patch.ts";
import type { PatchReader } from "./patch-reader.ts";

export const ENVELOPE_BEGIN = "*** Begin Patch";
const ENVELOPE_END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const NUMBERED = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;
const KINDS: Readonly<Record<string, HunkLine["kind"]>> = { " ": "keep", "-": "remove", "+": "add" };

/** Parses `*** Begin Patch` … `*** End Patch`; throws PatchSyntaxError. */
export function parseEnvelope(reader: PatchReader): FileChange[] {
  if (reader.peek()?.trim() !== ENVELOPE_BEGIN) reader.fail(`\`${ENVELOPE_BEGIN}\``);
  reader.next();
  const changes: FileChange[] = [];
  for (reader.skipBlank(); reader.peek()?.trim() !== ENVELOPE_END; reader.skipBlank()) {
    changes.push(parseChange(reader));
  }
  if (changes.length === 0)
    reader.fail("at least one `*** Update File:`, `*** Add File:` or `*** Delete File:`");
  reader.next();
  reader.skipBlank();
  if (reader.peek() !== undefined) reader.fail(`nothing after \`${ENVELOPE_END}\``);
  return changes;
}

function parseChange(reader: PatchReader): FileChange {
  const patchLine = reader.lineNumber;
  const [, verb, rawPath] = /^\*\*\* (Add|Delete|Update) File:(.*)$/.exec(reader.peek() ?? "") ?? [];
  if (verb === undefined || rawPath === undefined) {
    reader.fail(`\`*** Update File:\`, \`*** Add File:\`, \`*** Delete File:\` or \`${ENVELOPE_END}\``);
  }
  const path = reader.path(rawPath);
  reader.next();
  if (verb === "Delete") return { kind: "delete", path, patchLine, hunks: undefined };
  if (verb === "Add") return { kind: "add", path, patchLine, content: parseContent(reader) };

  const [, rawTarget] = /^\*\*\* Move to:(.*)$/.exec(reader.peek() ?? "") ?? [];
  const moveTo = rawTarget === undefined ? undefined : reader.path(rawTarget);
  if (moveTo !== undefined) reader.next();
  const hunks: Hunk[] = [];
  for (reader.skipBlank(); !atDirective(reader); reader.skipBlank()) hunks.push(parseHunk(reader));
  if (hunks.length === 0 && moveTo === undefined)
    reader.fail("a hunk: `@@` and lines that start with ` `, `-` or `+`");
  return { kind: "update", path, patchLine, moveTo, hunks };
}

function parseContent(reader: PatchReader): string {
  let content = "";
  for (let line = reader.peek(); line?.startsWith("+"); line = reader.peek()) {
    content += `${line.slice(1)}\n`;
    reader.next();
  }
  if (content !== "" && reader.peek()?.startsWith("\\ ")) {
    content = content.slice(0, -1);
    reader.next();
  }
  reader.skipBlank();
  if (!atDirective(reader)) reader.fail("a line of the new file, which starts with `+`");
  return content;
}

function parseHunk(reader: PatchReader): Hunk {
  const patchLine = reader.lineNumber;
  const anchors: string[] = [];
  let linesBefore: number | undefined;
  for (let line = reader.peek(); line?.startsWith("@@"); line = reader.peek()) {
    const [, start, count] = NUMBERED.exec(line) ?? [];
    const anchor = line
      .slice(2)
      .replace(/ @@\s*$/, "")
      .trim();
    if (start !== undefined) linesBefore = Number(start) - (count === "0" ? 0 : 1);
    else if (anchor !== "") anchors.push(anchor);
    reader.next();
  }
  const lines: HunkLine[] = [];
  let bareAtEnd = 0; // empty lines without a leading space: blank context, or plain layout if they end the hunk
  let statesFinalNewline = false;
  for (let line = reader.peek(); line !== undefined; line = reader.peek()) {
    const last = lines.at(-1);
    const kind = line === "" ? "keep" : KINDS[line[0] ?? ""];
    if (line.startsWith("\\ ") && last !== undefined) {
      lines[lines.length - 1] = { kind: last.kind, text: last.text.slice(0, -1) };
      statesFinalNewline = true;
    } else if (kind !== undefined) {
      lines.push({ kind, text: `${line.slice(1)}\n` });
    } else break;
    bareAtEnd = line === "" ? bareAtEnd + 1 : 0;
    reader.next();
  }
  lines.length -= bareAtEnd;
  const atEnd = reader.peek()?.trim() === END_OF_FILE;
  if (lines.length === 0 || (!atEnd && !atDirective(reader) && !reader.peek()?.startsWith("@@"))) {
    reader.fail("a line of the hunk, which starts with ` `, `-` or `+`");
  }
  if (atEnd) reader.next();
  return { patchLine, linesBefore, anchors, atEnd, statesFinalNewline, literal: false, lines };
}

function atDirective(reader: PatchReader): boolean {
  const line = reader.peek();
  return line?.trim() === ENVELOPE_END || /^\*\*\* (Add|Delete|Update) File:/.test(line ?? "");
}
