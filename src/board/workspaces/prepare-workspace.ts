import { resolve } from "node:path";
import type { Task } from "../task.ts";
import { createFolders } from "./create-folders.ts";
import { prepareWorktree } from "./git/worktree.ts";
import { prepareScratch } from "./scratch.ts";
import {
  ensureManagedRoot,
  folderNameOf,
  requireAbsolute,
  type Workspace,
  type WorkspaceLocation,
  workspaceRefused,
} from "./workspace.ts";
import { withWorkspaceLock } from "./workspace-record.ts";

/**
 * Creates the workspace of a claimed task, or reuses it and finishes it if it is incomplete; throws `workspace-refused` if
 * the folder cannot be used.
 */
export async function prepareWorkspace(
  task: Task,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<Workspace> {
  signal.throwIfAborted();
  const id = folderNameOf(task.id);
  if (task.workspace_kind === "dir") {
    const named = task.workspace_path ?? location.defaultWorkdir;
    if (named === null)
      throw workspaceRefused(`${id} needs a folder, but neither the task nor its board names one.`);
    const path = resolve(requireAbsolute(named, "A folder"));
    await createFolders(path);
    return { kind: "dir", path };
  }
  if (task.workspace_kind === "scratch" && task.workspace_path !== null)
    throw workspaceRefused(
      `${id} has a scratch workspace, which cannot have a path; use a workspace of kind dir for ${task.workspace_path}.`,
    );
  const root = await ensureManagedRoot(location);
  const prepare = () =>
    task.workspace_kind === "scratch"
      ? prepareScratch(root, id)
      : prepareWorktree(root, task, location, signal);
  return withWorkspaceLock(root, { taskId: id }, prepare, signal);
}
