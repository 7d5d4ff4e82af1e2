import { errnoOf, messageOf } from "../../../lib/errors.ts";
import { createFileProblem, type FileProblem, type FileProblemKind } from "../file-problem.ts";

/** A path on this machine, distinct from the paths of an environment. */
export type HostPath = string & { readonly target?: "host" };

export interface CopyOptions {
  /** Refuses larger content; unlimited if omitted. */
  readonly maxBytes?: number | undefined;
  /** Receives the number of file bytes copied since the last call, without archive overhead. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

export interface CompletedCopy {
  readonly kind: "copied";
  /** The path of the copy. */
  readonly path: string;
  readonly type: "file" | "folder";
  readonly files: number;
  readonly bytes: number;
  /** The number of folder entries that were not copied: sockets, FIFOs, devices, and links that lead outside. */
  readonly skipped: number;
  /** The names of the first skipped entries. */
  readonly skippedNames: readonly string[];
}

export function copiedFile(path: string, bytes: number): CompletedCopy {
  return { kind: "copied", path, type: "file", files: 1, bytes, skipped: 0, skippedNames: [] };
}

export function copiedFolder(
  path: string,
  { files, bytes, skipped }: { files: number; bytes: number; skipped: ReturnType<typeof createSkipList> },
): CompletedCopy {
  const { count, names } = skipped;
  return { kind: "copied", path, type: "folder", files, bytes, skipped: count, skippedNames: names };
}

/** Reports to `onBytes` how much the count has grown since the last call. */
export function createProgressReporter({ onBytes }: CopyOptions, count: () => number): () => void {
  let reported = 0;
  return () => {
    const growth = count() - reported;
    reported += growth;
    if (growth > 0) onBytes?.(growth);
  };
}

/** Why nothing was copied; no partial copy remains. */
export interface CopyProblem extends Omit<FileProblem, "path"> {
  /** The side of the affected file. */
  readonly side: "host" | "environment";
  readonly path: string;
}

export function createEnvironmentProblem(problem: FileProblem): CopyProblem {
  return { ...problem, side: "environment" };
}

export function createHostProblem(kind: FileProblemKind, path: HostPath, reason?: string): CopyProblem {
  return { ...createFileProblem(kind, `${path}`, reason), side: "host" };
}

const KINDS: Readonly<Record<string, FileProblemKind>> = {
  ENOENT: "missing",
  EISDIR: "is-folder",
  ENOTDIR: "not-a-folder",
  EEXIST: "exists",
  ENOTEMPTY: "exists",
  ELOOP: "symlink-loop",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "read-only",
  ENOSPC: "disk-full",
  EDQUOT: "disk-full",
  EFBIG: "disk-full",
};

/** Converts a failed system call on this machine to a problem; any other error is a bug and is rethrown. */
export function problemOfError(error: unknown, path: HostPath): CopyProblem {
  const code = errnoOf(error);
  if (code === undefined) throw error;
  const kind = KINDS[code];
  return createHostProblem(kind ?? "failed", path, kind === undefined ? messageOf(error) : undefined);
}

const MAX_NAMES = 20;

/** Counts skipped entries and remembers the first names. */
export function createSkipList(): { names: string[]; readonly count: number; add(name: string): void } {
  const names: string[] = [];
  let count = 0;
  return {
    names,
    get count() {
      return count;
    },
    add(name) {
      count++;
      if (names.length < MAX_NAMES) names.push(name);
    },
  };
}
