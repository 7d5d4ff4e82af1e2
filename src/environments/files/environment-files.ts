import { randomBytes } from "node:crypto";
import { setImmediate as nextEventLoopTurn } from "node:timers/promises";
import type { Environment, ShellSession, TargetPath } from "../environment.ts";
import { copyIn } from "./copy/copy-in.ts";
import { copyOut } from "./copy/copy-out.ts";
import type { CopyOptions, HostPath } from "./copy/copy-outcome.ts";
import { createFileProblem, type FileProblem } from "./file-problem.ts";
import { LIST_SCRIPT, REMOVE_SCRIPT, STAT_SCRIPT, WRITE_SCRIPT } from "./file-scripts.ts";
import { digestOf, type FileStats, parseFileStats, readFileBytes } from "./read-bytes.ts";
import { type ReadOptions, readText } from "./read-text.ts";
import { type RunFileScript, runFileScript } from "./run-file-script.ts";
import { searchFiles } from "./search/search-files.ts";
import type { SearchQuery } from "./search/search-query.ts";
import type { SearchPrograms } from "./search/search-script.ts";

const LIST_LIMIT = 1_000;

export interface FileFacts extends FileStats {
  readonly kind: "found";
  /** The resolved path, so that a policy can check where the file really is. */
  readonly path: TargetPath;
  /** Whether the requested path itself is a link. */
  readonly isLink: boolean;
  readonly type: "file" | "folder" | "fifo" | "socket" | "device" | "other";
}

export interface FolderEntry {
  readonly name: string;
  /** The type of the entry itself; links are not followed. */
  readonly type: "file" | "folder" | "link" | "other";
}

export interface FolderListing {
  readonly kind: "listed";
  readonly path: TargetPath;
  /** Sorted by bytes, hidden entries first; at most `limit`. */
  readonly entries: readonly FolderEntry[];
  readonly total: number;
}

export interface WriteOptions {
  /** Replaces the file's current mode, or the default mode of a new file. */
  readonly mode?: number | undefined;
  /** The digest of the content that was read, or `absent`; a file with other content is `changed-meanwhile`. */
  readonly expected?: string | undefined;
}

export interface FileWritten {
  readonly kind: "written";
  /** The resolved path: links are followed. */
  readonly path: TargetPath;
  readonly created: boolean;
  readonly digest: string;
  /** False if the file belonged to another user and now belongs to the environment's user. */
  readonly ownerKept: boolean;
}

/** The files of an environment, accessed only by commands that run in it. `kind` distinguishes results from problems. */
export type EnvironmentFiles = ReturnType<typeof createEnvironmentFiles>;

/** Relative paths start in the session's folder; `~` is the home folder inside the environment. */
export function createEnvironmentFiles(
  environment: Environment,
  session: ShellSession,
  programs: SearchPrograms = {},
) {
  const run: RunFileScript = (script, signal) => runFileScript(environment, session, script, signal);

  return {
    async stat(path: TargetPath, signal: AbortSignal): Promise<FileFacts | FileProblem> {
      const result = await run({ script: STAT_SCRIPT, path }, signal);
      if (result.kind !== "done") return result;
      const { facts } = result;
      return {
        kind: "found",
        path: result.path,
        isLink: facts.has("link"),
        type: (facts.get("type") ?? "other") as FileFacts["type"],
        ...parseFileStats(facts.get("facts")),
      };
    },

    async list(
      folder: TargetPath,
      { limit = LIST_LIMIT }: { readonly limit?: number },
      signal: AbortSignal,
    ): Promise<FolderListing | FileProblem> {
      const result = await run({ script: LIST_SCRIPT, path: folder, args: [`${limit}`] }, signal);
      if (result.kind !== "done") return result;
      const entries = result.stdout.toString("utf8").split("\0").slice(0, -1).map(parseEntry);
      return { kind: "listed", path: result.path, entries, total: Number(result.facts.get("total")) };
    },

    read: (path: TargetPath, options: ReadOptions, signal: AbortSignal) =>
      readText(run, path, options, signal),

    /** Reads the whole file, or returns `too-large`. */
    readBytes: (path: TargetPath, maxBytes: number, signal: AbortSignal) =>
      readFileBytes(run, path, maxBytes, signal),

    /** Atomic: the path always holds either the old or the new content. Creates missing folders. */
    async write(
      path: TargetPath,
      bytes: Uint8Array,
      { mode, expected }: WriteOptions,
      signal: AbortSignal,
    ): Promise<FileWritten | FileProblem> {
      const suffix = randomBytes(8).toString("hex");
      const octal = mode === undefined ? "" : mode.toString(8).padStart(4, "0");
      const args = [suffix, `${bytes.length}`, octal, expected ?? ""];
      const running = run({ script: WRITE_SCRIPT, path, args, stdin: bytes }, signal);
      running.catch(() => undefined); // awaited below
      await nextEventLoopTurn(); // starts sending before the digest blocks the event loop
      const digest = digestOf(bytes);
      const result = await running;
      if (result.kind !== "done") return result;
      if (!result.facts.has("done")) return createFileProblem("incomplete", result.path);
      const { facts, path: written } = result;
      return {
        kind: "written",
        path: written,
        created: facts.has("created"),
        digest,
        ownerKept: !facts.has("owner"),
      };
    },

    /** Removes a regular file, or a link itself; refuses folders. `expected` as for a write. */
    async remove(
      path: TargetPath,
      { expected }: { readonly expected?: string | undefined },
      signal: AbortSignal,
    ): Promise<{ readonly kind: "removed"; readonly path: TargetPath } | FileProblem> {
      const result = await run({ script: REMOVE_SCRIPT, path, args: [expected ?? ""] }, signal);
      return result.kind === "done" ? { kind: "removed", path: result.path } : result;
    },

    search: (query: SearchQuery, signal: AbortSignal) => searchFiles(run, query, programs, signal),

    /** Copies a file or a folder with its content from this machine into the environment. */
    copyIn: (from: HostPath, to: TargetPath, options: CopyOptions, signal: AbortSignal) =>
      copyIn(run, from, to, options, signal),

    /** Copies a file or a folder from the environment to this machine. */
    copyOut: (from: TargetPath, to: HostPath, options: CopyOptions, signal: AbortSignal) =>
      copyOut(run, from, to, options, signal),
  };
}

const ENTRY_TYPES = { f: "file", d: "folder", l: "link", o: "other" } as const;

function parseEntry(text: string): FolderEntry {
  return { type: ENTRY_TYPES[text[0] as keyof typeof ENTRY_TYPES] ?? "other", name: text.slice(1) };
}
