import type { TargetPath } from "../environment.ts";

/** The message and the hint for each kind of problem. */
const PROBLEMS = {
  missing: ["does not exist", "Check the spelling, or list the folder."],
  "is-folder": ["is a folder", "List it, or name a file in it."],
  exists: ["already exists; it was not changed", "Choose another name, or remove it first."],
  "not-a-folder": ["is not a folder, or a parent of it is not a folder", "Check each component of the path."],
  "not-regular": [
    "is a FIFO, socket or device",
    "Only regular files can be read and written. Use a command with a timeout.",
  ],
  "symlink-loop": ["is a symbolic link that leads back to itself", "Remove the link and create it again."],
  denied: [
    "is not accessible to the user of this environment",
    "Check the owner and the mode of the file and its folder.",
  ],
  "read-only": ["is on a read-only file system", "Choose another folder."],
  "disk-full": [
    "does not fit: the disk, the quota or the file size limit is exhausted",
    "Free some space first.",
  ],
  "too-large": ["is too large to read at once", "Read a part of it, or use a command."],
  "changed-meanwhile": [
    "was changed by another process since it was read; it was not overwritten",
    "Read it again, then repeat the change.",
  ],
  "no-program": [
    "could not be processed because the environment lacks a program",
    "Install the missing program, or use another image.",
  ],
  "archive-refused": [
    "produced an invalid or malicious archive; no file was kept",
    "Inspect the folder with a command before you copy it.",
  ],
  incomplete: ["was not transferred completely; the previous content is unchanged", "Try again."],
  "timed-out": [
    "could not be processed in time",
    "Check the environment. After a write, read the file to see its content.",
  ],
  unavailable: [
    "could not be reached because the environment was lost",
    "Check the environment. After a write, read the file to see its content.",
  ],
  failed: ["could not be processed", "See the reason."],
} as const;

export type FileProblemKind = keyof typeof PROBLEMS;

/** Why an operation was not done; the file is unchanged. */
export interface FileProblem {
  readonly kind: FileProblemKind;
  /** The resolved path if known, else the requested path. */
  readonly path: TargetPath;
  /** What happened. */
  readonly message: string;
  /** What to do next. */
  readonly hint: string;
}

export function isFileProblem(value: { readonly kind: string }): value is FileProblem {
  return Object.hasOwn(PROBLEMS, value.kind);
}

export function createFileProblem(kind: FileProblemKind, path: TargetPath, reason = ""): FileProblem {
  const [what, hint] = PROBLEMS[kind];
  const detail = reason.trim();
  return { kind, path, message: `${path} ${what}${detail === "" ? "." : `: ${detail}`}`, hint };
}

/** Error texts of the C library, which every userland prints; our scripts set `LC_ALL=C`. */
const REASONS: readonly (readonly [RegExp, FileProblemKind])[] = [
  [/No space left|quota exceeded|File too large|size limit exceeded/i, "disk-full"],
  [/Read-only file system/i, "read-only"],
  [/Permission denied|Operation not permitted/i, "denied"],
  [/Not a directory|File exists/i, "not-a-folder"],
  [/Too many levels of symbolic links/i, "symlink-loop"],
];
const KILLED_BY_SIZE_LIMIT = 128 + 25;

/** Derives the kind of problem from the error text and the exit code of a program. */
export function problemKindOf(errorText: string, exitCode: number): FileProblemKind {
  if (exitCode === KILLED_BY_SIZE_LIMIT) return "disk-full";
  return REASONS.find(([pattern]) => pattern.test(errorText))?.[1] ?? "failed";
}
