import { randomBytes } from "node:crypto";
import { setImmediate as turnOfEventLoop } from "node:timers/promises";
import type { Environment, ShellSession, TargetPath } from "../environment.ts";
import { copyIn } from "./copy/copy-in.ts";
import { copyOut } from "./copy/copy-out.ts";
import type { Copied, CopyOptions, CopyProblem, HostPath } from "./copy/copy-outcome.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { LIST_SCRIPT, REMOVE_SCRIPT, STAT_SCRIPT, WRITE_SCRIPT } from "./file-scripts.ts";
import { digestOf, type FileBytes, type FileNumbers, parseFileNumbers, readFileBytes } from "./read-bytes.ts";
import { type ReadOptions, readText, type TextRead } from "./read-text.ts";
import { type RunFileScript, runFileScript } from "./run-file-script.ts";
import { type PatternInvalid, type SearchFound, searchFiles } from "./search/search-files.ts";
import type { SearchQuery } from "./search/search-query.ts";
import type { SearchPrograms } from "./search/search-script.ts";

const LIST_LIMIT = 1_000;

export interface FileFacts extends FileNumbers {
  readonly kind: "found";
  /** Links followed, so that a policy can judge where it really lies. */
  readonly path: TargetPath;
  /** Whether the path that was asked for is itself a link. */
  readonly isLink: boolean;
  readonly type: "file" | "folder" | "fifo" | "socket" | "device" | "other";
}

export interface FolderEntry {
  readonly name: string;
  /** Of the entry itself: a link is not followed. */
  readonly type: "file" | "folder" | "link" | "other";
}

export interface FolderListing {
  readonly kind: "listed";
  readonly path: TargetPath;
  /** In the order of their bytes, hidden ones first; at most as many as were asked for. */
  readonly entries: readonly FolderEntry[];
  readonly total: number;
}

export interface WriteOptions {
  /** Instead of the file's own, or for a new file of the usual ones. */
  readonly mode?: number | undefined;
  /** The digest of what was read, or `absent`: anything else there now is told as `changed-meanwhile`. */
  readonly expected?: string | undefined;
}

export interface FileWritten {
  readonly kind: "written";
  /** Where it really lies: links are followed. */
  readonly path: TargetPath;
  readonly created: boolean;
  readonly digest: string;
  /** False when the file was another user's and is ours now. */
  readonly ownerKept: boolean;
}

export interface FileRemoved {
  readonly kind: "removed";
  readonly path: TargetPath;
}

/** The files of an environment, seen and changed only by commands in it. Whatever happens is told by `kind`. */
export interface EnvironmentFiles {
  stat(path: TargetPath, signal: AbortSignal): Promise<FileFacts | FileProblem>;
  list(
    folder: TargetPath,
    options: { readonly limit?: number },
    signal: AbortSignal,
  ): Promise<FolderListing | FileProblem>;
  /** One page of a text. */
  read(path: TargetPath, options: ReadOptions, signal: AbortSignal): Promise<TextRead | FileProblem>;
  /** The whole file, or `too-large`. */
  readBytes(path: TargetPath, maxBytes: number, signal: AbortSignal): Promise<FileBytes | FileProblem>;
  /** All or nothing: at every moment the path holds the old content or the new. Missing folders are made. */
  write(
    path: TargetPath,
    bytes: Uint8Array,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<FileWritten | FileProblem>;
  /** A regular file, or a link itself; folders are refused. `expected` as for a write. */
  remove(
    path: TargetPath,
    options: { readonly expected?: string | undefined },
    signal: AbortSignal,
  ): Promise<FileRemoved | FileProblem>;
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchFound | PatternInvalid | FileProblem>;
  /** From our machine into the environment: a file, or a folder with all that is in it. */
  copyIn(
    from: HostPath,
    to: TargetPath,
    options: CopyOptions,
    signal: AbortSignal,
  ): Promise<Copied | CopyProblem>;
  /** From the environment to our machine. */
  copyOut(
    from: TargetPath,
    to: HostPath,
    options: CopyOptions,
    signal: AbortSignal,
  ): Promise<Copied | CopyProblem>;
}

/** Relative paths start where the session is; `~` is the home of the environment. */
export function createEnvironmentFiles(
  environment: Environment,
  session: ShellSession,
  programs: SearchPrograms = {},
): EnvironmentFiles {
  const run: RunFileScript = (script, signal) => runFileScript(environment, session, script, signal);

  return {
    readBytes: (path, maxBytes, signal) => readFileBytes(run, path, maxBytes, signal),

    async stat(path, signal) {
      const result = await run({ script: STAT_SCRIPT, path }, signal);
      if (result.kind !== "done") return result;
      const { facts } = result;
      return {
        kind: "found",
        path: result.path,
        isLink: facts.has("link"),
        type: (facts.get("type") ?? "other") as FileFacts["type"],
        ...parseFileNumbers(facts.get("facts")),
      };
    },

    async list(folder, { limit = LIST_LIMIT }, signal) {
      const result = await run({ script: LIST_SCRIPT, path: folder, args: [`${limit}`] }, signal);
      if (result.kind !== "done") return result;
      const entries = result.stdout.toString("utf8").split("\0").slice(0, -1).map(parseEntry);
      return { kind: "listed", path: result.path, entries, total: Number(result.facts.get("total")) };
    },

    read: (path, options, signal) => readText(run, path, options, signal),

    async write(path, bytes, { mode, expected }, signal) {
      const suffix = randomBytes(8).toString("hex");
      const octal = mode === undefined ? "" : mode.toString(8).padStart(4, "0");
      const args = [suffix, `${bytes.length}`, octal, expected ?? ""];
      const running = run({ script: WRITE_SCRIPT, path, args, stdin: bytes }, signal);
      running.catch(() => undefined); // it is awaited below
      await turnOfEventLoop(); // so that the bytes are on their way while they are counted
      const digest = digestOf(bytes);
      const result = await running;
      if (result.kind !== "done") return result;
      if (!result.facts.has("done")) return createFileProblem("incomplete", result.path);
      return {
        kind: "written",
        path: result.path,
        created: result.facts.has("created"),
        digest,
        ownerKept: !result.facts.has("owner"),
      };
    },

    copyIn: (from, to, options, signal) => copyIn(run, from, to, options, signal),

    copyOut: (from, to, options, signal) => copyOut(run, from, to, options, signal),

    search: (query, signal) => searchFiles(run, query, programs, signal),

    async remove(path, { expected }, signal) {
      const result = await run({ script: REMOVE_SCRIPT, path, args: [expected ?? ""] }, signal);
      return result.kind === "done" ? { kind: "removed", path: result.path } : result;
    },
  };
}

const ENTRY_TYPES = { f: "file", d: "folder", l: "link", o: "other" } as const;

function parseEntry(text: string): FolderEntry {
  return { type: ENTRY_TYPES[text[0] as keyof typeof ENTRY_TYPES] ?? "other", name: text.slice(1) };
}
