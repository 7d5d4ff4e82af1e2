import type { SimilarLines } from "../similar-lines.ts";
import { applyHunks, type HunkPlacement, type HunkProblem } from "./apply-hunks.ts";
import type { FileChange, Patch } from "./patch.ts";

/** Why one file, or one of its hunks, makes the whole patch fail. */
export interface PatchProblem {
  readonly path: string;
  readonly patchLine: number;
  readonly hunk: number | undefined; // 1-based
  readonly reason: "file-missing" | "file-exists" | "content-left" | HunkProblem["reason"];
  readonly message: string;
  readonly nearest: SimilarLines | undefined;
}

export type PatchOutcome =
  | {
      readonly kind: "planned";
      /** The new content of each changed file; undefined for a deleted file. */
      readonly files: ReadonlyMap<string, string | undefined>;
      readonly moves: readonly { readonly from: string; readonly to: string }[];
      readonly placements: readonly (HunkPlacement & { readonly path: string })[];
    }
  | { readonly kind: "refused"; readonly problems: readonly PatchProblem[] };

/**
 * Plans the whole patch on the contents of all its files (`patchPaths`; undefined for a missing file). Returns either all
 * new contents or all problems. Problems quote a file as `show` renders it.
 */
export function applyPatch(
  patch: Patch,
  contents: ReadonlyMap<string, string | undefined>,
  show: (path: string, text: string) => string = (_, text) => text,
): PatchOutcome {
  const planned = new Map<string, string | undefined>();
  const moves: { from: string; to: string }[] = [];
  const placements: (HunkPlacement & { path: string })[] = [];
  const problems: PatchProblem[] = [];

  const contentOf = (path: string): string | undefined => {
    if (planned.has(path)) return planned.get(path);
    // A file that was not read must not count as missing: an added file would overwrite it.
    if (!contents.has(path)) throw new Error(`the content of ${path} was not passed`);
    return contents.get(path);
  };
  const refuse = (change: FileChange, path: string, reason: PatchProblem["reason"], message: string) =>
    problems.push({
      path,
      patchLine: change.patchLine,
      hunk: undefined,
      reason,
      message,
      nearest: undefined,
    });

  for (const change of patch.changes) {
    const { path } = change;
    const before = contentOf(path);
    if (change.kind === "add") {
      if (before === undefined) planned.set(path, change.content);
      else refuse(change, path, "file-exists", "the file already exists; update it instead of adding it");
      continue;
    }
    if (before === undefined) {
      refuse(change, path, "file-missing", `the file to ${change.kind} does not exist`);
      continue;
    }
    const target = change.kind === "update" ? (change.moveTo ?? path) : path;
    if (target !== path && contentOf(target) !== undefined) {
      refuse(change, target, "file-exists", `the file already exists, so ${path} cannot be moved there`);
    }
    const outcome = applyHunks(before, change.hunks ?? [], (text) => show(path, text));
    if (outcome.kind === "refused") {
      problems.push(...outcome.problems.map((problem) => ({ ...problem, path })));
      continue;
    }
    if (change.kind === "delete" && change.hunks !== undefined && outcome.content !== "") {
      refuse(change, path, "content-left", "the file contains lines that the patch does not remove");
      continue;
    }
    placements.push(...outcome.placements.map((placement) => ({ ...placement, path })));
    planned.set(path, undefined);
    if (change.kind === "update") planned.set(target, outcome.content);
    if (target !== path) moves.push({ from: path, to: target });
  }
  if (problems.length > 0) return { kind: "refused", problems };
  const files = new Map([...planned].filter(([path, content]) => content !== contents.get(path)));
  return { kind: "planned", files, moves, placements };
}
