import { resolve } from "node:path";
import type { Task } from "../task.ts";
import { makeFolders } from "./make-folders.ts";
import { prepareScratch } from "./scratch.ts";
import {
  folderNameOf,
  openManagedRoot,
  requireAbsolute,
  type Workspace,
  type WorkspacePlace,
  workspaceRefused,
} from "./workspace.ts";
import { withWorkspaceLock } from "./workspace-record.ts";
import { prepareWorktree } from "./worktree.ts";

/**
 * Makes the folder in which a claimed task is worked on, or finds the one that an earlier attempt left; whatever a crash
 * left half-made is finished. Throws `workspace-refused` when the task asks for a folder that cannot be.
 */
export async function prepareWorkspace(
  task: Task,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<Workspace> {
  signal.throwIfAborted();
  const id = folderNameOf(task.id);
  if (task.workspace_kind === "dir") {
    const named = task.workspace_path ?? place.defaultWorkdir;
    if (named === null)
      throw workspaceRefused(`${id} wants a folder, but neither it nor its board names one.`);
    const path = resolve(requireAbsolute(named, "A folder"));
    await makeFolders(path);
    return { kind: "dir", path };
  }
  if (task.workspace_kind === "scratch" && task.workspace_path !== null)
    throw workspaceRefused(
      `${id} works in scratch, which has no path of its own; ${task.workspace_path} would be a dir.`,
    );
  const root = await openManagedRoot(place);
  const prepare = () =>
    task.workspace_kind === "scratch" ? prepareScratch(root, id) : prepareWorktree(root, task, place, signal);
  return withWorkspaceLock(root, id, prepare, signal);
}
