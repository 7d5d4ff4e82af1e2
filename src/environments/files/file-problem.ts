import type { TargetPath } from "../environment.ts";

/** Why nothing was done: what each kind of problem means, and what to do next. */
const PROBLEMS = {
  missing: ["does not exist", "Check the spelling, or list the folder."],
  "is-folder": ["is a folder", "List it, or name a file in it."],
  exists: ["exists already; it was left as it is", "Choose another name, or remove it first."],
  "not-a-folder": ["is not a folder, or lies below something that is none", "Check the path, part by part."],
  "not-regular": [
    "is a FIFO, socket or device",
    "Only regular files are read and written; use a command, with a timeout.",
  ],
  "symlink-loop": ["is a symbolic link that leads back to itself", "Remove the link and make it anew."],
  denied: [
    "may not be accessed by the user of this environment",
    "Check owner and mode of it and its folder.",
  ],
  "read-only": ["is on a read-only file system", "Choose another folder."],
  "disk-full": ["does not fit: disk, quota or the limit of a file's size is reached", "Free space first."],
  "too-large": ["is larger than what is read at once", "Read a part of it, or use a command."],
  "changed-meanwhile": [
    "was changed by somebody else since it was read; it was left as it is",
    "Read it again, and write what should be there now.",
  ],
  "no-program": [
    "could not be worked on, because the environment lacks a program",
    "Install the program that is named, or use another image.",
  ],
  "archive-refused": [
    "sent an archive that is damaged or hostile; nothing of it was kept",
    "Look at the folder with a command before you copy it.",
  ],
  incomplete: ["did not arrive whole; what was there before is unchanged", "Do it again."],
  "timed-out": [
    "did not answer in time",
    "Check the environment; after a write read the file to see what it holds.",
  ],
  unavailable: [
    "could not be reached, because the environment was lost",
    "Check the environment; after a write read the file to see what it holds.",
  ],
  failed: ["could not be worked on", "See the reason."],
} as const;

export type FileProblemKind = keyof typeof PROBLEMS;

/** An operation that was not done; a file is then as it was before. */
export interface FileProblem {
  readonly kind: FileProblemKind;
  /** The real path where it is known, else the one that was asked for. */
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

/** Every userland takes these words from the C library, and our scripts ask for them in English. */
const REASONS: readonly (readonly [RegExp, FileProblemKind])[] = [
  [/No space left|quota exceeded|File too large|size limit exceeded/i, "disk-full"],
  [/Read-only file system/i, "read-only"],
  [/Permission denied|Operation not permitted/i, "denied"],
  [/Not a directory|File exists/i, "not-a-folder"],
  [/Too many levels of symbolic links/i, "symlink-loop"],
];
const KILLED_BY_SIZE_LIMIT = 128 + 25;

/** The kind of problem that a tool's own words and exit code tell. */
export function problemKindOf(words: string, exitCode: number): FileProblemKind {
  if (exitCode === KILLED_BY_SIZE_LIMIT) return "disk-full";
  return REASONS.find(([pattern]) => pattern.test(words))?.[1] ?? "failed";
}
