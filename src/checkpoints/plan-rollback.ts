import { type Change, isSame, type TreeEntry } from "./compare-trees.ts";

/** Reverts the change from `before` to `after` in a file that was edited later; undefined if the edits conflict. */
export type UndoInEdited = (
  edited: TreeEntry,
  after: TreeEntry,
  before: TreeEntry,
) => Promise<TreeEntry | undefined>;

export interface RollbackPlan {
  readonly changes: readonly Change[];
  readonly restored: readonly string[];
  /** Files in which the user's edits stay and the changes of the turns are undone. */
  readonly merged: readonly string[];
  /** Files that are not changed, because the user has edited the same lines. */
  readonly kept: readonly string[];
}

/**
 * Plans how to undo the given turns, which are sorted from oldest to newest. They are undone one by one, newest first, because
 * the user may have edited a file between two of them. Files that no turn changed are not part of the plan.
 */
export async function planRollback(
  turns: readonly (readonly Change[])[],
  current: (path: string) => TreeEntry | undefined,
  isWanted: (path: string) => boolean,
  undoInEdited: UndoInEdited,
): Promise<RollbackPlan> {
  const byPath = new Map<string, Change[]>();
  for (const change of turns.flat())
    if (isWanted(change.path)) byPath.set(change.path, [...(byPath.get(change.path) ?? []), change]);
  const changes: Change[] = [];
  const restored: string[] = [];
  const merged: string[] = [];
  const kept: string[] = [];
  for (const [path, made] of byPath) {
    const from = current(path);
    const result = await undo(from, made.toReversed(), undoInEdited);
    if (result === "impossible") kept.push(path);
    else if (!isSame(from, result.state)) {
      changes.push({ path, from, to: result.state });
      (result.isEdited ? merged : restored).push(path);
    }
  }
  return { changes, restored, merged, kept };
}

async function undo(
  now: TreeEntry | undefined,
  newestFirst: readonly Change[],
  undoInEdited: UndoInEdited,
): Promise<{ readonly state: TreeEntry | undefined; readonly isEdited: boolean } | "impossible"> {
  let state = now;
  let isEdited = false;
  for (const { from: before, to: after } of newestFirst) {
    if (isSame(state, after)) {
      state = before;
      continue;
    }
    if (isSame(state, before)) continue; // the user has undone it already
    const result = state && after && before && (await undoInEdited(state, after, before));
    if (result === undefined) return "impossible";
    state = result;
    isEdited = true;
  }
  return { state, isEdited };
}
