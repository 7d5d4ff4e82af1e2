import type { Task } from "../task.ts";
import { findWorktreePlace } from "./find-worktree-place.ts";
import { createGit, listWorktrees } from "./git.ts";
import { openManagedRoot, type WorkspacePlace } from "./workspace.ts";
import { findRecord, recordedTasks } from "./workspace-record.ts";
import { findBefore } from "./worktree.ts";

/** As much of a task as says which branch it wants to have checked out, and where. */
export type BranchTask = Pick<Task, "id" | "workspace_kind" | "workspace_path" | "branch_name">;

/** A checkout that has the branch of another task: git makes no second one of a branch. */
export interface BranchUser {
  readonly branch: string;
  readonly path: string;
  /** Whose worktree it is, if we have made it. */
  readonly taskId: string | undefined;
}

/** The checkout that keeps a task from its branch; throws `workspace-refused` when no repository can be meant. */
export async function findBranchUser(
  task: BranchTask,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<BranchUser | undefined> {
  if (task.workspace_kind !== "worktree" || task.branch_name === null) return undefined;
  const root = await openManagedRoot(place);
  if ((await findBefore(await findRecord(root, task.id), place, signal)) !== undefined) return undefined;
  const { repository, path, branch, isGiven } = await findWorktreePlace(task, place, signal);
  if (isGiven) return undefined;
  const checkouts = await listWorktrees(createGit(repository, place.env, signal));
  const other = checkouts.find((checkout) => checkout.branch === branch && checkout.path !== path);
  if (other === undefined) return undefined;
  return { branch, path: other.path, taskId: await makerOf(root, other.path) };
}

async function makerOf(root: string, path: string): Promise<string | undefined> {
  for (const taskId of await recordedTasks(root))
    if ((await findRecord(root, taskId))?.path === path) return taskId;
  return undefined;
}
