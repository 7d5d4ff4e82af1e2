import { posix } from "node:path";
import type { TargetPath } from "../environment.ts";
import { type AppliedChange, applyChanges, type PlannedChange } from "./apply-changes.ts";
import type { HunkPlacement } from "./edit/apply-hunks.ts";
import { applyPatch, type PatchProblem } from "./edit/apply-patch.ts";
import type { NearestPlace } from "./edit/nearest-place.ts";
import { parsePatch } from "./edit/parse-patch.ts";
import { patchPaths } from "./edit/patch.ts";
import { replaceText } from "./edit/replace-text.ts";
import { joinDiffs, movedDiff, unifiedDiff } from "./edit/unified-diff.ts";
import type { EnvironmentFiles, FileFacts } from "./environment-files.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { decodeText, encodeText, PLAIN_FORMAT, type TextFormat } from "./text-format.ts";

const MOST_BYTES = 50 * 1024 * 1024;

/** Where changes may reach. */
export interface ChangeScope {
  /** Only files that really lie in this folder, links followed; everywhere unless given. */
  readonly within?: TargetPath | undefined;
  /** Why a file must not be changed, in words; asked of where it really lies, before anything is read or written. */
  readonly judge?: ((real: TargetPath) => string | undefined) | undefined;
  /** Why a file must not get this text, in words; `before` is undefined for a new file. Asked before anything is written. */
  readonly judgeText?:
    | ((real: TargetPath, before: string | undefined, after: string) => string | undefined)
    | undefined;
  /** A file's text as whoever changes it may see it; as it is unless given. */
  readonly show?: ((real: TargetPath, text: string) => string) | undefined;
}

export interface FilesChanged {
  readonly kind: "changed";
  readonly changes: readonly AppliedChange[];
  readonly diff: string;
  /** Where the hunks of a patch were put, and what had to be overlooked. */
  readonly placements: readonly (HunkPlacement & { readonly path: string })[];
}

/** Why nothing was changed. */
export type ChangeRefused =
  | FileProblem
  /** The file is no text, or the new text has half a character in it. */
  | { readonly kind: "not-text"; readonly path: TargetPath; readonly message: string }
  | { readonly kind: "outside"; readonly path: TargetPath; readonly message: string }
  | { readonly kind: "forbidden"; readonly path: TargetPath; readonly message: string }
  | { readonly kind: "unchanged"; readonly path: TargetPath; readonly message: string }
  | { readonly kind: "not-found"; readonly path: TargetPath; readonly nearest: NearestPlace | undefined }
  | {
      readonly kind: "ambiguous";
      readonly path: TargetPath;
      readonly count: number;
      readonly lines: readonly number[];
    }
  | {
      readonly kind: "patch-malformed";
      readonly line: number;
      readonly expected: string;
      readonly found: string;
    }
  | { readonly kind: "patch-refused"; readonly problems: readonly PatchProblem[] };

/** Some of the files could not be written. */
export interface ChangeStopped {
  readonly kind: "stopped";
  /** Of the file at which it stopped. */
  readonly problem: FileProblem;
  /** What was done and could not be taken back; empty when everything is as it was. */
  readonly changed: readonly AppliedChange[];
  readonly diff: string;
}

export type ChangeOutcome = FilesChanged | ChangeRefused | ChangeStopped;

/** Gives a file this text, in the format (encoding, BOM, line endings) that it has. Nobody else's change is overwritten. */
export async function writeText(
  files: EnvironmentFiles,
  path: TargetPath,
  text: string,
  scope: ChangeScope,
  signal: AbortSignal,
): Promise<ChangeOutcome> {
  const old = await readForChange(files, path, scope, signal, "replace");
  if (isRefused(old)) return old;
  return change(files, [{ from: old, to: old, text }], scope, signal);
}

/** Replaces a text in a file where it stands exactly once, or everywhere with `all`. */
export async function replaceInFile(
  files: EnvironmentFiles,
  path: TargetPath,
  { oldText, newText, all = false }: { oldText: string; newText: string; all?: boolean | undefined },
  scope: ChangeScope,
  signal: AbortSignal,
): Promise<ChangeOutcome> {
  const old = await readForChange(files, path, scope, signal);
  if (isRefused(old)) return old;
  if (old.text === undefined) return createFileProblem("missing", old.path);
  const show = (text: string): string => scope.show?.(old.path, text) ?? text;
  const outcome = replaceText(old.text, oldText, newText, { all, show });
  if (outcome.kind === "unchanged") return unchanged(old.path);
  if (outcome.kind !== "replaced") return { ...outcome, path: old.path };
  return change(files, [{ from: old, to: old, text: outcome.content }], scope, signal);
}

/**
 * Applies a patch to all its files or to none. Everything is planned before the first byte is written; if a file cannot
 * be written then, what was done is taken back, and what could not be is told.
 */
export async function patchFiles(
  files: EnvironmentFiles,
  patchText: string,
  scope: ChangeScope & { readonly allowAbsolute?: boolean },
  signal: AbortSignal,
): Promise<ChangeOutcome> {
  const parsed = parsePatch(patchText, { allowAbsolute: scope.allowAbsolute ?? false });
  if (parsed.kind === "malformed") return { ...parsed, kind: "patch-malformed" };
  const states = new Map<string, FileState>();
  const real = new Map<string, string>();
  for (const path of patchPaths(parsed.patch)) {
    const state = await readForChange(files, path, scope, signal);
    if (isRefused(state)) return state;
    const other = real.get(state.path);
    if (other !== undefined) {
      return createFileProblem(
        "failed",
        state.path,
        `the patch changes it under two names, ${other} and ${path}`,
      );
    }
    real.set(state.path, path);
    states.set(path, state);
  }
  const contents = new Map([...states].map(([path, state]) => [path, state.text]));
  const stateOf = (path: string): FileState => {
    const state = states.get(path);
    if (state === undefined) throw new Error(`${path} was not read`);
    return state;
  };
  const show = (path: string, text: string): string => scope.show?.(stateOf(path).path, text) ?? text;
  const planned = applyPatch(parsed.patch, contents, show);
  if (planned.kind === "refused") return { kind: "patch-refused", problems: planned.problems };
  const sources = new Map(planned.moves.map(({ from, to }) => [to, from]));
  // A file that moved and got a new content at its old name is two changes.
  const gone = new Set(
    planned.moves.map(({ from }) => from).filter((from) => planned.files.get(from) === undefined),
  );
  const changes = [...planned.files].flatMap(([path, text]): Wanted[] => {
    const from = sources.get(path);
    if (text === undefined)
      return gone.has(path) ? [] : [{ from: stateOf(path), to: undefined, text: undefined }];
    return [{ from: stateOf(from !== undefined && gone.has(from) ? from : path), to: stateOf(path), text }];
  });
  if (changes.length === 0) return unchanged(patchPaths(parsed.patch)[0] ?? "");
  return change(files, changes, scope, signal, planned.placements);
}

/** A file as it is before the change; `text` is undefined when there is none. */
interface FileState {
  /** As it was asked for. */
  readonly asked: TargetPath;
  readonly path: TargetPath;
  readonly text: string | undefined;
  readonly bytes: Uint8Array | undefined;
  readonly digest: string;
  readonly format: TextFormat;
  readonly mode: number | undefined;
}

interface Wanted {
  readonly from: FileState;
  /** Undefined for a file that goes away. */
  readonly to: FileState | undefined;
  readonly text: string | undefined;
}

async function change(
  files: EnvironmentFiles,
  wanted: readonly Wanted[],
  { judgeText }: ChangeScope,
  signal: AbortSignal,
  placements: FilesChanged["placements"] = [],
): Promise<ChangeOutcome> {
  const plans: PlannedChange[] = [];
  for (const { from, to, text } of wanted) {
    if (to === undefined || text === undefined) {
      const before = requireBytes(from);
      plans.push({
        ...placeOf(from),
        kind: "delete",
        before,
        diff: unifiedDiff(from.asked, from.text, undefined),
      });
      continue;
    }
    const reason = judgeText?.(to.path, from.text, text);
    if (reason !== undefined) return { kind: "forbidden", path: to.path, message: reason };
    const bytes = encodeText(text, from.format);
    if (bytes === undefined) {
      const { encoding } = from.format;
      const message =
        encoding === "windows-1252"
          ? `${to.asked} is in Latin-1 (${encoding}), which does not have all characters of the new text. Write it with others, or convert the file with iconv first.`
          : `The new text of ${to.asked} has half a surrogate pair in it, which no file can hold.`;
      return { kind: "not-text", path: to.path, message };
    }
    const isMove = from !== to;
    const before = from.bytes === undefined ? undefined : requireBytes(from);
    if (!isMove && before !== undefined && Buffer.compare(before.bytes, bytes) === 0) {
      if (wanted.length === 1) return unchanged(to.path);
      continue;
    }
    // As it will be read, so that line endings which the file brings along do not show as changes.
    const now = decodeText(bytes)?.text ?? text;
    plans.push(
      isMove
        ? {
            ...placeOf(to),
            kind: "move",
            bytes,
            before: requireBytes(from),
            source: placeOf(from),
            diff: movedDiff(from.asked, to.asked, from.text ?? "", now),
          }
        : {
            ...placeOf(to),
            kind: before === undefined ? "add" : "update",
            bytes,
            before,
            diff: unifiedDiff(to.asked, from.text, now),
          },
    );
  }
  const applied = await applyChanges(files, plans, signal);
  const diff = joinDiffs(applied.changes.map((done) => done.diff));
  if (applied.problem !== undefined) {
    return { kind: "stopped", problem: applied.problem, changed: applied.changes, diff };
  }
  return { kind: "changed", changes: applied.changes, diff, placements };
}

function placeOf({ asked, path, digest }: FileState): {
  asked: TargetPath;
  path: TargetPath;
  expected: string;
} {
  return { asked, path, expected: digest };
}

function requireBytes({ path, bytes, digest, mode }: FileState) {
  if (bytes === undefined) throw new Error(`${path} was not there to be changed`);
  return { bytes, digest, mode };
}

async function readForChange(
  files: EnvironmentFiles,
  asked: TargetPath,
  { within, judge }: ChangeScope,
  signal: AbortSignal,
  purpose: "edit" | "replace" = "edit",
): Promise<FileState | ChangeRefused> {
  const found = await files.stat(asked, signal);
  if (found.kind !== "found" && found.kind !== "missing") return found;
  const outside =
    within === undefined ? undefined : await findOutside(files, { asked, found, within }, signal);
  if (outside !== undefined) return outside;
  const message = judge?.(found.path);
  if (message !== undefined) return { kind: "forbidden", path: found.path, message };
  if (found.kind !== "found") {
    const absent = { text: undefined, bytes: undefined, digest: "absent", mode: undefined };
    return { asked, path: found.path, format: PLAIN_FORMAT, ...absent };
  }
  if (found.type === "folder") return createFileProblem("is-folder", found.path);
  if (found.type !== "file") return createFileProblem("not-regular", found.path);
  const read = await files.readBytes(asked, MOST_BYTES, signal);
  if (read.kind !== "bytes") return read;
  const { path, bytes, digest } = read;
  const decoded = decodeText(bytes);
  if (decoded === undefined && purpose === "edit") {
    return { kind: "not-text", path, message: `${path} is no text that could be changed without loss.` };
  }
  const { text = "", format = PLAIN_FORMAT } = decoded ?? {};
  return { asked, path, text, bytes, digest, format, mode: found.mode };
}

/** The refusal of a place that is not in the folder, as far as can be known before it is written to. */
async function findOutside(
  files: EnvironmentFiles,
  { asked, found, within }: { asked: TargetPath; found: FileFacts | FileProblem; within: TargetPath },
  signal: AbortSignal,
): Promise<ChangeRefused | undefined> {
  const root = await files.stat(within, signal);
  if (root.kind !== "found") return root;
  const isIn = (path: string) => root.path === "/" || `${path}/`.startsWith(`${root.path}/`);
  const refused = (path: string): ChangeRefused => ({
    kind: "outside",
    path,
    message: `${asked} lies outside of ${root.path}.`,
  });
  if (found.kind === "found") return isIn(found.path) ? undefined : refused(found.path);
  // What is not there yet will lie where the nearest folder above it really is, unless its path goes up again.
  if (found.path.split("/").includes("..")) return refused(found.path);
  for (let above = posix.dirname(found.path); ; above = posix.dirname(above)) {
    const folder = await files.stat(above, signal);
    if (folder.kind === "found") return isIn(folder.path) ? undefined : refused(folder.path);
    if (folder.kind !== "missing" || above === posix.dirname(above)) return folder;
  }
}

function unchanged(path: TargetPath): ChangeRefused {
  return { kind: "unchanged", path, message: `${path} has this content already.` };
}

function isRefused(value: FileState | ChangeRefused): value is ChangeRefused {
  return "kind" in value;
}
