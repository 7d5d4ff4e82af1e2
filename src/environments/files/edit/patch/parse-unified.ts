import type { FileChange, Hunk, HunkLine } from "./patch.ts";
import type { PatchReader } from "./patch-reader.ts";
import { unquotePath } from "./unquote-path.ts";

const HUNK_HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NOTHING = "/dev/null";
const NOISE = /^(index |similarity index |dissimilarity index )/;
const FILE_EXPECTED = "`*** Begin Patch`, `--- path`, or `diff --git` and its lines";
const MODES = { new: ["100644"], deleted: ["100644", "100755"] }; // we write contents, not modes

interface Header {
  oldPath?: string; // as written, with the prefixes of git
  newPath?: string;
  renameFrom?: string;
  renameTo?: string;
  mode?: "new" | "deleted";
  gitPath?: string;
}

/** Parses a unified diff as printed by diff and git; throws PatchSyntaxError. */
export function parseUnified(reader: PatchReader): FileChange[] {
  const changes: FileChange[] = [];
  do {
    changes.push(parseFile(reader));
    reader.skipBlank();
  } while (reader.peek() !== undefined);
  return changes;
}

function parseFile(reader: PatchReader): FileChange {
  const patchLine = reader.lineNumber;
  const header = parseHeader(reader);
  const hunks: Hunk[] = [];
  while (reader.peek()?.startsWith("@@")) hunks.push(parseHunk(reader));
  if (hunks.length === 0 && header.oldPath !== undefined) reader.fail("`@@ -line,count +line,count @@`");

  if (header.renameFrom !== undefined && header.renameTo !== undefined) {
    return { kind: "update", path: header.renameFrom, patchLine, moveTo: header.renameTo, hunks };
  }
  if (header.oldPath === NOTHING || header.mode === "new") {
    const path = header.newPath ?? header.gitPath ?? reader.fail("`+++ path`");
    const lines = hunks.flatMap((hunk) => hunk.lines);
    if (hunks.length > 1 || lines.some((line) => line.kind !== "add"))
      reader.fail("one hunk of `+` lines for a new file");
    return { kind: "add", path, patchLine, content: lines.map((line) => line.text).join("") };
  }
  const path = header.oldPath ?? header.gitPath ?? reader.fail("`--- path`");
  if (header.newPath === NOTHING || header.mode === "deleted")
    return { kind: "delete", path, patchLine, hunks };
  if (hunks.length === 0) reader.fail("`--- path`");
  return { kind: "update", path, patchLine, moveTo: undefined, hunks };
}

function parseHeader(reader: PatchReader): Header {
  const header: Header = {};
  const git = /^diff --git (?:"?a\/(.*?)"?) (?:"?b\/\1"?)$/.exec(reader.peek() ?? "");
  if (git?.[1] !== undefined) header.gitPath = reader.path(unquotePath(git[1], true));
  if (reader.peek()?.startsWith("diff ")) reader.next();
  for (let line = reader.peek() ?? ""; !line.startsWith("--- "); line = reader.peek() ?? "") {
    const [, mode, digits] = /^(new|deleted) file mode (\d+)$/.exec(line) ?? [];
    const [, side, renamed] = /^rename (from|to) (.*)$/.exec(line) ?? [];
    if (mode === "new" || mode === "deleted") {
      if (!MODES[mode].includes(digits ?? "")) {
        reader.fail(`mode ${MODES[mode].join(" or ")}, since a patch can only hold plain text files`);
      }
      header.mode = mode;
    } else if (side !== undefined && renamed !== undefined) {
      header[side === "from" ? "renameFrom" : "renameTo"] = reader.path(unquotePath(renamed));
    } else if (!NOISE.test(line)) {
      const whole = header.mode !== undefined || header.renameTo !== undefined;
      if (whole && (line.trim() === "" || line.startsWith("diff "))) return header;
      reader.fail(FILE_EXPECTED);
    }
    reader.next();
  }
  const oldLine = reader.peek() ?? "";
  const newLine = reader.peek(1) ?? "";
  const oldName = nameOf(oldLine);
  const newName = nameOf(newLine);
  const stripped = [oldName, newName].every(
    (name, index) => name === NOTHING || name.startsWith(index === 0 ? "a/" : "b/"),
  );
  const pathOf = (name: string) =>
    name === NOTHING ? NOTHING : reader.path(stripped ? name.slice(2) : name);
  header.oldPath = pathOf(oldName);
  reader.next();
  if (!newLine.startsWith("+++ ")) reader.fail("`+++ path`");
  header.newPath = pathOf(newName);
  const created = header.oldPath === NOTHING;
  const deleted = header.newPath === NOTHING;
  if (created && deleted) reader.fail("a path on one of the two sides");
  if (!created && !deleted && header.renameTo === undefined && header.oldPath !== header.newPath) {
    reader.fail("the path of the `---` line again, or `rename from` and `rename to` above");
  }
  reader.next();
  return header;
}

/** The name on a `---` or `+++` line; a tab separates it from a date. */
function nameOf(line: string): string {
  return unquotePath(line.slice(4).replace(/\t.*$/, "").trimEnd());
}

function parseHunk(reader: PatchReader): Hunk {
  const patchLine = reader.lineNumber;
  const [, oldStart, oldCount = "1", , newCount = "1"] = HUNK_HEADER.exec(reader.peek() ?? "") ?? [];
  if (oldStart === undefined) reader.fail("`@@ -line,count +line,count @@`");
  reader.next();
  let oldLeft = Number(oldCount);
  let newLeft = Number(newCount);
  const lines: HunkLine[] = [];
  let statesFinalNewline = false;
  while (oldLeft > 0 || newLeft > 0 || reader.peek()?.startsWith("\\ ")) {
    const line = reader.peek();
    const last = lines.at(-1);
    if (line?.startsWith("\\ ") && last?.text.endsWith("\n")) {
      lines[lines.length - 1] = { kind: last.kind, text: last.text.slice(0, -1) };
      statesFinalNewline = true;
    } else if (line?.startsWith("-") && oldLeft > 0) {
      lines.push({ kind: "remove", text: `${line.slice(1)}\n` });
      oldLeft -= 1;
    } else if (line?.startsWith("+") && newLeft > 0) {
      lines.push({ kind: "add", text: `${line.slice(1)}\n` });
      newLeft -= 1;
    } else if ((line === "" || line?.startsWith(" ")) && oldLeft > 0 && newLeft > 0) {
      lines.push({ kind: "keep", text: `${line.slice(1)}\n` });
      oldLeft -= 1;
      newLeft -= 1;
    } else {
      reader.fail(
        `${oldLeft} more old and ${newLeft} more new lines, according to the header on line ${patchLine}`,
      );
    }
    reader.next();
  }
  const linesBefore = Number(oldStart) - (oldCount === "0" ? 0 : 1);
  return { patchLine, linesBefore, anchors: [], atEnd: false, statesFinalNewline, literal: true, lines };
}
