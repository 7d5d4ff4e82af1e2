import { posix } from "node:path";
import type { TargetPath } from "../environment.ts";
import { type AppliedChange, applyChanges, type FileState, type PlannedChange } from "./apply-changes.ts";
import type { HunkPlacement } from "./edit/patch/apply-hunks.ts";
import { applyPatch, type PatchProblem } from "./edit/patch/apply-patch.ts";
import { parsePatch } from "./edit/patch/parse-patch.ts";
import { patchPaths } from "./edit/patch/patch.ts";
import { joinDiffs, movedDiff, unifiedDiff } from "./edit/patch/unified-diff.ts";
import { replaceText } from "./edit/replace-text.ts";
import type { SimilarLines } from "./edit/similar-lines.ts";
import type { EnvironmentFiles, FileFacts } from "./environment-files.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { decodeText, encodeText, PLAIN_FORMAT } from "./text-format.ts";

const MAX_FILE_BYTES = 50 * 1024 * 1024;

/** Which files and contents a change may touch. */
export interface ChangeScope {
  /** Allows only files whose resolved path is in this folder; if absent, all files are allowed. */
  readonly onlyInFolder?: TargetPath | undefined;
  /** Returns the reason why a file must not be changed. Called with the resolved path before any read or write. */
  readonly findRefusal?: ((real: TargetPath) => string | undefined) | undefined;
  /** Returns the reason why a file must not get this text; called before any write. `before` is undefined for a new file. */
  readonly findTextRefusal?:
    | ((real: TargetPath, before: string | undefined, after: string) => string | undefined)
    | undefined;
  /** The digest of the content that the author last saw; a file with other content is not replaced as a whole. */
  readonly digestSeen?: ((real: TargetPath) => string | undefined) | undefined;
  /** Hides parts of a file's text, such as secrets, from the author of the change. */
  readonly redact?: ((real: TargetPath, text: string) => string) | undefined;
}

export interface FilesChanged {
  readonly kind: "changed";
  readonly changes: readonly AppliedChange[];
  readonly diff: string;
  /** Where each hunk of a patch was applied, and which differences were tolerated. */
  readonly placements: readonly (HunkPlacement & { readonly path: string })[];
}

/** Why nothing was changed. */
export type ChangeRefused =
  | FileProblem
  /** `not-text`: the file is not text, or the new text cannot be encoded. */
  | {
      readonly kind: "not-text" | "outside" | "forbidden" | "unchanged";
      readonly path: TargetPath;
      readonly message: string;
    }
  | { readonly kind: "not-found"; readonly path: TargetPath; readonly nearest: SimilarLines | undefined }
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

/** A file could not be written. */
export interface ChangeStopped {
  readonly kind: "stopped";
  /** The problem of the file that could not be written. */
  readonly problem: FileProblem;
  /** Changes that were applied and could not be reverted; empty if all files are as before. */
  readonly changed: readonly AppliedChange[];
  readonly diff: string;
}

export type ChangeOutcome = FilesChanged | ChangeRefused | ChangeStopped;

/** Writes a text in the file's own format (encoding, BOM, line endings). Never overwrites a concurrent change. */
export async function writeText(
  files: EnvironmentFiles,
  path: TargetPath,
  text: string,
  scope: ChangeScope,
  signal: AbortSignal,
): Promise<ChangeOutcome> {
  const old = await readForChange(files, path, scope, signal, "replace");
  if (isRefused(old)) return old;
  const seen = scope.digestSeen?.(old.path);
  if (seen !== undefined && old.text !== undefined && seen !== old.digest) {
    const message = `${old.path} has changed since you read it: the new text would overwrite a change of the user or of another program. To continue, read it again with read_file, then repeat your change.`;
    return { kind: "forbidden", path: old.path, message };
  }
  return change(files, [{ from: old, to: old, text }], scope, signal);
}

/** Replaces a text that occurs exactly once in the file; with `all`, every occurrence. */
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
  const show = (text: string): string => scope.redact?.(old.path, text) ?? text;
  const outcome = replaceText(old.text, oldText, newText, { all, show });
  if (outcome.kind === "unchanged") return createUnchanged(old.path);
  if (outcome.kind !== "replaced") return { ...outcome, path: old.path };
  return change(files, [{ from: old, to: old, text: outcome.content }], scope, signal);
}

/**
 * Applies a patch to all its files or to none. All changes are planned before the first write. If a write fails, earlier
 * changes are reverted, and those that could not be reverted are returned.
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
      const reason = `the patch changes this file under two names, ${other} and ${path}`;
      return createFileProblem("failed", state.path, reason);
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
  const show = (path: string, text: string): string => scope.redact?.(stateOf(path).path, text) ?? text;
  const planned = applyPatch(parsed.patch, contents, show);
  if (planned.kind === "refused") return { kind: "patch-refused", problems: planned.problems };
  const sources = new Map(planned.moves.map(({ from, to }) => [to, from]));
  // A moved file whose old path gets new content counts as two changes.
  const movedAway = new Set(
    planned.moves.map(({ from }) => from).filter((from) => planned.files.get(from) === undefined),
  );
  const changes = [...planned.files].flatMap(([path, text]): RequestedChange[] => {
    const from = sources.get(path);
    if (text === undefined)
      return movedAway.has(path) ? [] : [{ from: stateOf(path), to: undefined, text: undefined }];
    return [
      { from: stateOf(from !== undefined && movedAway.has(from) ? from : path), to: stateOf(path), text },
    ];
  });
  if (changes.length === 0) return createUnchanged(patchPaths(parsed.patch)[0] ?? "");
  return change(files, changes, scope, signal, planned.placements);
}

interface RequestedChange {
  readonly from: FileState;
  /** Undefined for a file that is deleted. */
  readonly to: FileState | undefined;
  readonly text: string | undefined;
}

async function change(
  files: EnvironmentFiles,
  requested: readonly RequestedChange[],
  { findTextRefusal }: ChangeScope,
  signal: AbortSignal,
  placements: FilesChanged["placements"] = [],
): Promise<ChangeOutcome> {
  const plans: PlannedChange[] = [];
  for (const { from, to, text } of requested) {
    if (to === undefined || text === undefined) {
      const diff = unifiedDiff(from.requestedPath, from.text, undefined);
      plans.push({ kind: "delete", from, to: from, bytes: new Uint8Array(), diff });
      continue;
    }
    const reason = findTextRefusal?.(to.path, from.text, text);
    if (reason !== undefined) return { kind: "forbidden", path: to.path, message: reason };
    const bytes = encodeText(text, from.format);
    if (bytes === undefined)
      return { kind: "not-text", path: to.path, message: explainUnencodable(from, to) };
    const isMove = from !== to;
    if (!isMove && from.bytes !== undefined && Buffer.compare(from.bytes, bytes) === 0) {
      if (requested.length === 1) return createUnchanged(to.path);
      continue;
    }
    // The text as it will be read back, so that the file's own line endings do not show as changes.
    const newText = decodeText(bytes)?.text ?? text;
    const diff = isMove
      ? movedDiff(from.requestedPath, to.requestedPath, from.text ?? "", newText)
      : unifiedDiff(to.requestedPath, from.text, newText);
    const kind = isMove ? "move" : from.bytes === undefined ? "add" : "update";
    plans.push({ kind, from, to, bytes, diff });
  }
  const { changes, problem } = await applyChanges(files, plans, signal);
  const diff = joinDiffs(changes.map((done) => done.diff));
  if (problem !== undefined) return { kind: "stopped", problem, changed: changes, diff };
  return { kind: "changed", changes, diff, placements };
}

function explainUnencodable({ format }: FileState, { requestedPath }: FileState): string {
  return format.encoding === "windows-1252"
    ? `${requestedPath} is in Latin-1 (${format.encoding}), which lacks some characters of the new text. Use other characters, or convert the file with iconv first.`
    : `The new text of ${requestedPath} contains half a surrogate pair, which cannot be stored in a file.`;
}

async function readForChange(
  files: EnvironmentFiles,
  requestedPath: TargetPath,
  { onlyInFolder, findRefusal }: ChangeScope,
  signal: AbortSignal,
  purpose: "edit" | "replace" = "edit",
): Promise<FileState | ChangeRefused> {
  const found = await files.stat(requestedPath, signal);
  if (found.kind !== "found" && found.kind !== "missing") return found;
  const outside =
    onlyInFolder &&
    (await findOutside(files, { requested: requestedPath, found, within: onlyInFolder }, signal));
  if (outside) return outside;
  const message = findRefusal?.(found.path);
  if (message !== undefined) return { kind: "forbidden", path: found.path, message };
  if (found.kind !== "found") {
    const absent = { text: undefined, bytes: undefined, digest: "absent", mode: undefined };
    return { requestedPath, path: found.path, format: PLAIN_FORMAT, ...absent };
  }
  if (found.type === "folder") return createFileProblem("is-folder", found.path);
  if (found.type !== "file") return createFileProblem("not-regular", found.path);
  const read = await files.readBytes(requestedPath, MAX_FILE_BYTES, signal);
  if (read.kind !== "bytes") return read;
  const { path, bytes, digest } = read;
  const decoded = decodeText(bytes);
  if (decoded === undefined && purpose === "edit") {
    const reason = `${path} is not a text file that can be changed without loss.`;
    return { kind: "not-text", path, message: reason };
  }
  const { text = "", format = PLAIN_FORMAT } = decoded ?? {};
  return { requestedPath, path, text, bytes, digest, format, mode: found.mode };
}

/** Refuses a path outside the folder, as far as the path can be resolved before the file is written. */
async function findOutside(
  files: EnvironmentFiles,
  { requested, found, within }: { requested: TargetPath; found: FileFacts | FileProblem; within: TargetPath },
  signal: AbortSignal,
): Promise<ChangeRefused | undefined> {
  const root = await files.stat(within, signal);
  if (root.kind !== "found") return root;
  const isIn = (path: string) => root.path === "/" || `${path}/`.startsWith(`${root.path}/`);
  const refusalOf = (path: string): ChangeRefused => ({
    kind: "outside",
    path,
    message: `${requested} is outside of ${root.path}.`,
  });
  if (found.kind === "found") return isIn(found.path) ? undefined : refusalOf(found.path);
  // A file that does not exist yet will be in its nearest existing parent folder, unless its path contains `..`.
  if (found.path.split("/").includes("..")) return refusalOf(found.path);
  for (let above = posix.dirname(found.path); ; above = posix.dirname(above)) {
    const folder = await files.stat(above, signal);
    if (folder.kind === "found") return isIn(folder.path) ? undefined : refusalOf(folder.path);
    if (folder.kind !== "missing" || above === posix.dirname(above)) return folder;
  }
}

function createUnchanged(path: TargetPath): ChangeRefused {
  return { kind: "unchanged", path, message: `${path} already has this content.` };
}

function isRefused(value: FileState | ChangeRefused): value is ChangeRefused {
  return "kind" in value;
}
