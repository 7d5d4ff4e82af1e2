import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import type { Cleanup } from "./cleanup.ts";
import { declaredFiles } from "./declared-files.ts";
import { removeWorktree } from "./git/remove-worktree.ts";
import { measureLeftovers } from "./measure-leftovers.ts";
import { moveToQuarantine } from "./quarantine.ts";
import type { WorkspaceRecord } from "./record-schema.ts";
import { ensureManagedRoot, folderNameOf, type WorkspaceLocation } from "./workspace.ts";
import {
  findRecord,
  identityOf,
  recordedTasks,
  removeRecord,
  withWorkspaceLock,
} from "./workspace-record.ts";

export interface CleanupParts {
  readonly store: BoardStore;
  readonly location: WorkspaceLocation;
}

/**
 * Removes the workspace of a finished task if we created it and no other task needs it. The caller makes sure that no
 * process of the task is alive. Safe to call at any time, concurrently, and again after a crash.
 */
export async function cleanUpWorkspace(
  parts: CleanupParts,
  taskId: string,
  signal: AbortSignal,
): Promise<Cleanup> {
  const { location } = parts;
  const root = await ensureManagedRoot(location);
  const id = folderNameOf(taskId);
  return withWorkspaceLock(root, { taskId: id }, () => cleanUp(parts, root, id, signal), signal);
}

/** Calls `cleanUpWorkspace` for every task with a workspace, to catch up on deferred and interrupted cleanups. */
export async function cleanUpWorkspaces(
  parts: CleanupParts,
  signal: AbortSignal,
): Promise<readonly Cleanup[]> {
  const root = await ensureManagedRoot(parts.location);
  const done: Cleanup[] = [];
  for (const taskId of await recordedTasks(root)) {
    try {
      done.push(await cleanUpWorkspace(parts, taskId, signal));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      done.push({ taskId, outcome: "kept", reason: "failed", detail: error.message }); // continue with the other tasks
    }
  }
  return done;
}

async function cleanUp(
  { store, location }: CleanupParts,
  root: string,
  taskId: string,
  signal: AbortSignal,
): Promise<Cleanup> {
  const record = await findRecord(root, taskId);
  if (record === undefined) return { taskId, outcome: "none" };
  // Read under the lock: a new run of the task waits for the lock before it prepares the workspace.
  const end = await endOf(store, taskId, record, signal);
  if (end === "task-open" || end === "child-open") return { taskId, outcome: "kept", reason: end };
  if (record.kind === "worktree") {
    const kept = await removeWorktree(taskId, record, location, signal);
    if (kept !== undefined) return { taskId, outcome: "kept", ...kept };
    await removeRecord(root, taskId);
    return { taskId, outcome: "removed", discarded: undefined };
  }
  const path = join(root, taskId); // not the path of the record, which serves as proof only
  const identity = await identityOf(path);
  if (identity === undefined) {
    await removeRecord(root, taskId);
    return { taskId, outcome: "none" };
  }
  if (identity !== record.identity) return { taskId, outcome: "kept", reason: "not-ours" };
  const discarded = await measureLeftovers(path, end.declared, signal);
  const moved_to = await moveToQuarantine(path, taskId, location);
  await removeRecord(root, taskId);
  const system = store.as({ kind: "system", name: "workspaces" });
  if (discarded !== undefined) await system.recordDiscarded(taskId, { ...discarded, moved_to }, signal);
  return { taskId, outcome: "removed", discarded };
}

/** The artifacts that a finished task declared, or why its workspace is still needed. A purged task needs no workspace. */
async function endOf(
  store: BoardStore,
  taskId: string,
  { kind, path }: WorkspaceRecord,
  signal: AbortSignal,
): Promise<"task-open" | "child-open" | { readonly declared: ReadonlySet<string> }> {
  try {
    const { task, children, runs } = await store.show(taskId, signal);
    if (!isFinished(task)) return "task-open";
    for (const id of children) {
      const { task: child } = await store.show(id, signal);
      // A worktree is removed only when its commits are on a branch, and a child can use that branch only after the
      // checkout here is removed. So a child keeps a worktree only if it works in the same folder.
      const isNeeded = kind === "scratch" || child.workspace_path === path;
      if (!isFinished(child) && isNeeded) return "child-open";
    }
    return { declared: declaredFiles(runs) };
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return { declared: new Set() };
    throw error;
  }
}

function isFinished({ status }: { readonly status: string }): boolean {
  return status === "done" || status === "archived";
}
