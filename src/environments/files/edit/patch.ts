/** One line of a hunk, with its terminator. */
export interface HunkLine {
  readonly kind: "keep" | "remove" | "add";
  readonly text: string;
}

/** One connected change of a file, and what the patch says about its place. */
export interface Hunk {
  readonly patchLine: number;
  /** Lines of the old file that stand before the hunk, when the patch numbers them. */
  readonly linesBefore: number | undefined;
  /** Lines of the old file that stand above the hunk, in order, not necessarily next to it. */
  readonly anchors: readonly string[];
  /** True when the hunk ends where the file ends. */
  readonly atEnd: boolean;
  /** True when the hunk says itself whether the file ends with a newline; else the file keeps what it has. */
  readonly statesFinalNewline: boolean;
  /** True when the lines carry their own line endings even where nothing in the file confirms them. */
  readonly literal: boolean;
  readonly lines: readonly HunkLine[];
}

export type FileChange =
  | { readonly kind: "add"; readonly path: string; readonly patchLine: number; readonly content: string }
  | {
      readonly kind: "delete";
      readonly path: string;
      readonly patchLine: number;
      /** All that the file may hold; undefined when it goes away whatever it holds. */
      readonly hunks: readonly Hunk[] | undefined;
    }
  | {
      readonly kind: "update";
      readonly path: string;
      readonly patchLine: number;
      readonly moveTo: string | undefined;
      readonly hunks: readonly Hunk[];
    };

export interface Patch {
  readonly changes: readonly FileChange[];
}

/** Every path that the patch reads or writes: what has to be handed to `applyPatch`. */
export function patchPaths(patch: Patch): string[] {
  const paths = patch.changes.flatMap((change) =>
    change.kind === "update" && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path],
  );
  return [...new Set(paths)];
}
