import type { Task } from "../../task.ts";
import { ensureManagedRoot, type WorkspaceLocation } from "../workspace.ts";
import { findRecord, recordedTasks } from "../workspace-record.ts";
import { findWorktreeLocation } from "./find-worktree-location.ts";
import { createGit, listWorktrees } from "./git.ts";
import { findExistingWorktree } from "./worktree.ts";

/** The fields of a task that decide which branch it needs, and where. */
export type BranchTask = Pick<Task, "id" | "workspace_kind" | "workspace_path" | "branch_name">;

/** A checkout that occupies the branch of another task; git refuses a second checkout of a branch. */
export interface BranchUser {
  readonly branch: string;
  readonly path: string;
  /** The task whose worktree it is, if we created it. */
  readonly taskId: string | undefined;
}

/** The checkout that occupies a task's branch, if any; throws `workspace-refused` when no repository is found. */
export async function findBranchUser(
  task: BranchTask,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<BranchUser | undefined> {
  if (task.workspace_kind !== "worktree" || task.branch_name === null) return undefined;
  const root = await ensureManagedRoot(location);
  if ((await findExistingWorktree(await findRecord(root, task.id), location, signal)) !== undefined)
    return undefined;
  const { repository, path, branch, isGiven } = await findWorktreeLocation(task, location, signal);
  if (isGiven) return undefined;
  const checkouts = await listWorktrees(createGit(repository, location.env, signal));
  const other = checkouts.find((checkout) => checkout.branch === branch && checkout.path !== path);
  if (other === undefined) return undefined;
  return { branch, path: other.path, taskId: await findTaskOf(root, other.path) };
}

async function findTaskOf(root: string, path: string): Promise<string | undefined> {
  for (const taskId of await recordedTasks(root))
    if ((await findRecord(root, taskId))?.path === path) return taskId;
  return undefined;
}
