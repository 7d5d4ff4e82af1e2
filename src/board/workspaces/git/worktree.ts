import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFileOnce } from "../../../lib/files/files.ts";
import { unlessMissing } from "../../../lib/files/unless-missing.ts";
import type { Task } from "../../task.ts";
import { createFolders } from "../create-folders.ts";
import { moveToQuarantine } from "../quarantine.ts";
import type { WorkspaceRecord } from "../record-schema.ts";
import { type Workspace, type WorkspaceLocation, workspaceRefused } from "../workspace.ts";
import { findRecord, identityOf, withWorkspaceLock, writeRecord } from "../workspace-record.ts";
import { findWorktreeLocation, isMissingOrEmpty, WORKTREES_FOLDER } from "./find-worktree-location.ts";
import { createGit, type Git, listWorktrees } from "./git.ts";
import { checkOutSubmodules } from "./submodules.ts";

/** The worktree of a task: that of an earlier attempt, a given checkout, or a new one. The caller holds the task's lock. */
export async function prepareWorktree(
  root: string,
  task: Task,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<Workspace> {
  const record = await findRecord(root, task.id);
  const before = await findExistingWorktree(record, location, signal);
  if (before !== undefined) return before;
  if (record !== undefined) await discardIncomplete(task.id, record, location, signal);

  const { repository, path, branch, isGiven } = await findWorktreeLocation(task, location, signal);
  if (isGiven) return { kind: "worktree", path, branch };
  if (!(await isMissingOrEmpty(path)))
    throw workspaceRefused(`${path} contains files that hermes did not create.`);
  const git = createGit(repository, location.env, signal);
  if (!(await git.try("check-ref-format", `refs/heads/${branch}`)).ok)
    throw workspaceRefused(`${JSON.stringify(branch)} is not a valid branch name.`);
  const hasBranch = await branchExists(git, branch);
  const isOurs = record?.worktree?.branch === branch && record.worktree.madeBranch;
  const worktree = { repository, branch, madeBranch: !hasBranch || isOurs };
  // Recorded before the creation, so that leftovers of a crash are known to be ours.
  await writeRecord(root, task.id, { kind: "worktree", path, identity: null, worktree });
  await createParent(repository, path);
  const addWorktree = async () => {
    if (hasBranch) await git.run("worktree", "add", "--", path, branch);
    else await git.run("worktree", "add", "-b", branch, "--", path, "HEAD");
    await checkOutSubmodules(repository, path, location, signal);
  };
  await withWorkspaceLock(root, { repository }, addWorktree, signal);
  const identity = await identityOf(path);
  if (identity === undefined) throw workspaceRefused(`git created no folder at ${path}.`);
  await writeRecord(root, task.id, { kind: "worktree", path, identity, worktree });
  return { kind: "worktree", path, branch };
}

/** The worktree of an earlier attempt, if its folder is unchanged and git still lists it. */
export async function findExistingWorktree(
  record: WorkspaceRecord | undefined,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<Workspace | undefined> {
  if (record?.worktree === undefined || record.identity === null) return undefined;
  const { path, worktree } = record;
  if ((await identityOf(path)) !== record.identity || (await identityOf(worktree.repository)) === undefined)
    return undefined;
  const checkouts = await listWorktrees(createGit(worktree.repository, location.env, signal));
  const known = checkouts.find((checkout) => checkout.path === path);
  return known && { kind: "worktree", path, branch: known.branch ?? worktree.branch };
}

/** Removes a worktree that was never completed, or git's entry for a worktree without a folder; neither holds work. */
export async function discardIncomplete(
  taskId: string,
  { path, identity, worktree }: WorkspaceRecord,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<void> {
  if (worktree === undefined || (await identityOf(worktree.repository)) === undefined) return;
  const exists = (await identityOf(path)) !== undefined;
  if (exists && identity !== null) return; // the worktree was complete, so it may hold work
  if (exists) {
    if (!(await isMissingOrEmpty(path)) && !(await isLinkedCheckout(path)))
      throw workspaceRefused(`${path} contains files that are not a checkout created by hermes.`);
    await moveToQuarantine(path, taskId, location);
  }
  const git = createGit(worktree.repository, location.env, signal);
  const isListed = (await listWorktrees(git)).some((checkout) => checkout.path === path);
  if (!isListed) return;
  await git.try("worktree", "unlock", "--", path); // git locks a worktree while it creates it
  await git.run("worktree", "remove", "--", path); // the folder does not exist, so this only removes git's entry
}

/** In a linked worktree `.git` is a file; in a separate repository it is a folder. */
async function isLinkedCheckout(path: string): Promise<boolean> {
  return (await unlessMissing(lstat(join(path, ".git"))))?.isFile() ?? false;
}

export async function branchExists(git: Git, branch: string): Promise<boolean> {
  return (await git.try("show-ref", "--verify", "--quiet", `refs/heads/${branch}`)).ok;
}

async function createParent(repository: string, path: string): Promise<void> {
  await createFolders(dirname(path));
  const own = join(repository, WORKTREES_FOLDER);
  // Otherwise `git add .` in the main checkout would add the worktrees.
  if (dirname(path) === own) await createFileOnce(join(own, ".gitignore"), "*\n", 0o644);
}
