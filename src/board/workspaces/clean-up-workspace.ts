import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import type { Cleanup } from "./cleanup.ts";
import { declaredFiles } from "./declared-files.ts";
import { measureLeftovers } from "./measure-leftovers.ts";
import { moveAside } from "./quarantine.ts";
import { removeWorktree } from "./remove-worktree.ts";
import { folderNameOf, openManagedRoot, type WorkspacePlace } from "./workspace.ts";
import {
  findRecord,
  identityOf,
  recordedTasks,
  removeRecord,
  type WorkspaceRecord,
  withWorkspaceLock,
} from "./workspace-record.ts";

export interface CleanupParts {
  readonly store: BoardStore;
  readonly place: WorkspacePlace;
}

/**
 * Removes the workspace of a task that is over, when nobody needs it any more and only if we made it. The caller has seen
 * to it that no process of the task is left. Safe to call at any time, by several at once, and again after a crash.
 */
export async function cleanUpWorkspace(
  parts: CleanupParts,
  taskId: string,
  signal: AbortSignal,
): Promise<Cleanup> {
  const { place } = parts;
  const root = await openManagedRoot(place);
  const id = folderNameOf(taskId);
  return withWorkspaceLock(root, id, () => cleanUp(parts, root, id, signal), signal);
}

/** As `cleanUpWorkspace` for every task that has one: what was deferred or left by a crash is made up for. */
export async function tidyWorkspaces(parts: CleanupParts, signal: AbortSignal): Promise<readonly Cleanup[]> {
  const root = await openManagedRoot(parts.place);
  const done: Cleanup[] = [];
  for (const taskId of await recordedTasks(root)) {
    try {
      done.push(await cleanUpWorkspace(parts, taskId, signal));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      done.push({ taskId, outcome: "kept", reason: "failed", detail: error.message }); // the others shall not wait for it
    }
  }
  return done;
}

async function cleanUp(
  { store, place }: CleanupParts,
  root: string,
  taskId: string,
  signal: AbortSignal,
): Promise<Cleanup> {
  const record = await findRecord(root, taskId);
  if (record === undefined) return { taskId, outcome: "none" };
  // Looked up under the lock: whoever claims the task again waits here for its workspace.
  const end = await endOf(store, taskId, record, signal);
  if (end === "task-open" || end === "child-open") return { taskId, outcome: "kept", reason: end };
  if (record.kind === "worktree") {
    const kept = await removeWorktree(taskId, record, place, signal);
    if (kept !== undefined) return { taskId, outcome: "kept", ...kept };
    await removeRecord(root, taskId);
    return { taskId, outcome: "removed", discarded: undefined };
  }
  const path = join(root, taskId); // never what the record says: it proves, it does not point
  const identity = await identityOf(path);
  if (identity === undefined) {
    await removeRecord(root, taskId);
    return { taskId, outcome: "none" };
  }
  if (identity !== record.identity) return { taskId, outcome: "kept", reason: "not-ours" };
  const discarded = await measureLeftovers(path, end.declared, signal);
  const moved_to = await moveAside(path, taskId, place);
  await removeRecord(root, taskId);
  const system = store.as({ kind: "system", name: "workspaces" });
  if (discarded !== undefined) await system.tellDiscarded(taskId, { ...discarded, moved_to }, signal);
  return { taskId, outcome: "removed", discarded };
}

/** What a finished task declared as its artifacts, or why its workspace is still needed. A purged task needs nothing. */
async function endOf(
  store: BoardStore,
  taskId: string,
  { kind, path }: WorkspaceRecord,
  signal: AbortSignal,
): Promise<"task-open" | "child-open" | { readonly declared: ReadonlySet<string> }> {
  try {
    const { task, children, runs } = await store.show(taskId, signal);
    if (!isOver(task)) return "task-open";
    for (const id of children) {
      const { task: child } = await store.show(id, signal);
      // What a worktree has that can be removed is on a branch, and whoever goes on on that one cannot while it is
      // checked out here.
      const isNeeded = kind === "scratch" || child.workspace_path === path;
      if (!isOver(child) && isNeeded) return "child-open";
    }
    return { declared: declaredFiles(runs) };
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return { declared: new Set() };
    throw error;
  }
}

function isOver({ status }: { readonly status: string }): boolean {
  return status === "done" || status === "archived";
}
