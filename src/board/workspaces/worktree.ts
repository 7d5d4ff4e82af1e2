import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { createFileOnce } from "../../lib/files.ts";
import type { Task } from "../task.ts";
import { findWorktreePlace, isFree, OWN_FOLDER } from "./find-worktree-place.ts";
import { createGit, type Git, listWorktrees } from "./git.ts";
import { makeFolders } from "./make-folders.ts";
import { moveAside } from "./quarantine.ts";
import { fillSubmodules } from "./submodules.ts";
import { type Workspace, type WorkspacePlace, workspaceRefused } from "./workspace.ts";
import {
  findRecord,
  identityOf,
  type WorkspaceRecord,
  withRepositoryLock,
  writeRecord,
} from "./workspace-record.ts";

/** The worktree of a task: the one it had before, a given checkout, or a new one. The lock of the task is held. */
export async function prepareWorktree(
  root: string,
  task: Task,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<Workspace> {
  const record = await findRecord(root, task.id);
  const before = await findBefore(record, place, signal);
  if (before !== undefined) return before;
  if (record !== undefined) await discardHalfMade(task.id, record, place, signal);

  const { repository, path, branch, isGiven } = await findWorktreePlace(task, place, signal);
  if (isGiven) return { kind: "worktree", path, branch };
  if (!(await isFree(path))) throw workspaceRefused(`${path} is taken by files that we did not make.`);
  const git = createGit(repository, place.env, signal);
  if (!(await git.try("check-ref-format", `refs/heads/${branch}`)).ok)
    throw workspaceRefused(`${JSON.stringify(branch)} cannot be the name of a branch.`);
  const hasBranch = await isBranch(git, branch);
  const isOurs = record?.worktree?.branch === branch && record.worktree.madeBranch;
  const worktree = { repository, branch, madeBranch: !hasBranch || isOurs };
  // Said before it is done, so that whatever a crash leaves behind is known to be ours.
  await writeRecord(root, task.id, { kind: "worktree", path, identity: null, worktree });
  await makeParent(repository, path);
  const make = async () => {
    if (hasBranch) await git.run("worktree", "add", "--", path, branch);
    else await git.run("worktree", "add", "-b", branch, "--", path, "HEAD");
    await fillSubmodules(repository, path, place, signal);
  };
  await withRepositoryLock(root, repository, make, signal);
  const identity = await identityOf(path);
  if (identity === undefined) throw workspaceRefused(`git has made no folder at ${path}.`);
  await writeRecord(root, task.id, { kind: "worktree", path, identity, worktree });
  return { kind: "worktree", path, branch };
}

/** The worktree that an earlier attempt has left, if it still is that. */
export async function findBefore(
  record: WorkspaceRecord | undefined,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<Workspace | undefined> {
  if (record?.worktree === undefined || record.identity === null) return undefined;
  const { path, worktree } = record;
  if ((await identityOf(path)) !== record.identity || (await identityOf(worktree.repository)) === undefined)
    return undefined;
  const checkouts = await listWorktrees(createGit(worktree.repository, place.env, signal));
  const known = checkouts.find((checkout) => checkout.path === path);
  return known && { kind: "worktree", path, branch: known.branch ?? worktree.branch };
}

/** Clears away a worktree that never became one, or of which only git's own note is left. Nothing of value is in it. */
export async function discardHalfMade(
  taskId: string,
  { path, identity, worktree }: WorkspaceRecord,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<void> {
  if (worktree === undefined || (await identityOf(worktree.repository)) === undefined) return;
  const isThere = (await identityOf(path)) !== undefined;
  if (isThere && identity !== null) return; // it has been complete, so it may hold work
  if (isThere) {
    if (!(await isFree(path)) && !(await isLinkedCheckout(path)))
      throw workspaceRefused(`${path} holds files that are no checkout of ours.`);
    await moveAside(path, taskId, place);
  }
  const git = createGit(worktree.repository, place.env, signal);
  const isListed = (await listWorktrees(git)).some((checkout) => checkout.path === path);
  if (!isListed) return;
  await git.try("worktree", "unlock", "--", path); // git locks it while it makes it
  await git.run("worktree", "remove", "--", path); // no folder is there, so this drops git's note of it and no more
}

/** Only a worktree has a file of that name; a repository of its own has a folder. */
async function isLinkedCheckout(path: string): Promise<boolean> {
  try {
    return (await lstat(join(path, ".git"))).isFile();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}

export async function isBranch(git: Git, branch: string): Promise<boolean> {
  return (await git.try("show-ref", "--verify", "--quiet", `refs/heads/${branch}`)).ok;
}

async function makeParent(repository: string, path: string): Promise<void> {
  await makeFolders(dirname(path));
  const own = join(repository, OWN_FOLDER);
  // Or `git add .` in the main checkout would take the worktrees along.
  if (dirname(path) === own) await createFileOnce(join(own, ".gitignore"), "*\n", 0o644);
}
