import { errnoOf, messageOf } from "../../../lib/errors.ts";
import { createFileProblem, type FileProblem, type FileProblemKind } from "../file-problem.ts";

/** A path of our own machine. No path of an environment is taken for one. */
export type HostPath = string & { readonly target?: "host" };

export interface CopyOptions {
  /** More than this is refused; no limit unless given. */
  readonly maxBytes?: number | undefined;
  /** Told of every part that went over. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

export interface Copied {
  readonly kind: "copied";
  /** Where it is now. */
  readonly path: string;
  readonly type: "file" | "folder";
  readonly files: number;
  readonly bytes: number;
  /** How many entries of a folder were left out: sockets, FIFOs, devices, and links that lead out of it. */
  readonly skipped: number;
  /** The first of them. */
  readonly skippedNames: readonly string[];
}

/** Nothing was copied, and nothing was left behind. */
export interface CopyProblem extends Omit<FileProblem, "path"> {
  /** Whose file the problem is about. */
  readonly side: "host" | "environment";
  readonly path: string;
}

export function problemThere(problem: FileProblem): CopyProblem {
  return { ...problem, side: "environment" };
}

export function problemHere(kind: FileProblemKind, path: HostPath, reason?: string): CopyProblem {
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

/** The problem that a failed call of our own system tells; anything else thrown is a bug and goes on. */
export function problemOfError(error: unknown, path: HostPath): CopyProblem {
  const code = errnoOf(error);
  if (code === undefined) throw error;
  return problemHere(KINDS[code] ?? "failed", path, KINDS[code] === undefined ? messageOf(error) : undefined);
}

const NAMED = 20;

/** Counts what is left out and remembers the first names. */
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
      if (names.length < NAMED) names.push(name);
    },
  };
}
