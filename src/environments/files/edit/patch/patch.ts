/** One line of a hunk, with its terminator. */
export interface HunkLine {
  readonly kind: "keep" | "remove" | "add";
  readonly text: string;
}

/** One contiguous change of a file, with the position that the patch states. */
export interface Hunk {
  readonly patchLine: number;
  /** The number of lines before the hunk in the old file, if the patch states it. */
  readonly linesBefore: number | undefined;
  /** Lines of the old file above the hunk, in order, not necessarily adjacent to it. */
  readonly anchors: readonly string[];
  readonly atEnd: boolean;
  /** The hunk states whether the file ends with a newline; otherwise the file keeps its ending. */
  readonly statesFinalNewline: boolean;
  /** The lines keep their own line endings even if no line of the file confirms them. */
  readonly literal: boolean;
  readonly lines: readonly HunkLine[];
}

export type FileChange =
  | { readonly kind: "add"; readonly path: string; readonly patchLine: number; readonly content: string }
  | {
      readonly kind: "delete";
      readonly path: string;
      readonly patchLine: number;
      /** The only content that the file may have; undefined if any content is deleted. */
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

/** All paths that the patch reads or writes; `applyPatch` needs their contents. */
export function patchPaths(patch: Patch): string[] {
  const paths = patch.changes.flatMap((change) =>
    change.kind === "update" && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path],
  );
  return [...new Set(paths)];
}
