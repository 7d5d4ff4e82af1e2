import { shorten } from "../../lib/shorten.ts";
import type { KeepReason } from "./cleanup.ts";
import { createGit, type Git, listWorktrees } from "./git.ts";
import { moveAside } from "./quarantine.ts";
import { findSubmodules, forgetSubmodule, hasOwnCommit } from "./submodules.ts";
import type { WorkspacePlace } from "./workspace.ts";
import { identityOf, type WorkspaceRecord } from "./workspace-record.ts";
import { discardHalfMade, isBranch } from "./worktree.ts";

interface Kept {
  readonly reason: KeepReason;
  readonly detail?: string;
}

/**
 * Removes a worktree of ours that holds nothing that is not on a branch, and the branch that came with it once all of that
 * is on a remote; else says why it is kept.
 */
export async function removeWorktree(
  taskId: string,
  record: WorkspaceRecord,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<Kept | undefined> {
  const { path, identity, worktree } = record;
  if (worktree === undefined) return { reason: "not-ours" };
  const standing = await identityOf(path);
  if ((await identityOf(worktree.repository)) === undefined)
    return standing === undefined
      ? undefined
      : { reason: "not-ours", detail: `${worktree.repository} is gone` };
  const git = createGit(worktree.repository, place.env, signal);
  if (standing === undefined || identity === null) await discardHalfMade(taskId, record, place, signal);
  else {
    const kept =
      standing === identity
        ? await removeClean(git, { taskId, path, repository: worktree.repository }, place, signal)
        : ({ reason: "not-ours" } as const);
    if (kept !== undefined) return kept;
  }
  // A crash may have come after the folder and before the branch, so this is asked anew.
  if (worktree.madeBranch && worktree.branch === `wt/${taskId}`) await deleteBranch(git, worktree.branch);
  return undefined;
}

async function removeClean(
  git: Git,
  {
    taskId,
    path,
    repository,
  }: { readonly taskId: string; readonly path: string; readonly repository: string },
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<Kept | undefined> {
  if (!(await listWorktrees(git)).some((checkout) => checkout.path === path)) return { reason: "not-ours" };
  const inside = createGit(path, place.env, signal);
  const status = await inside.run(
    "status",
    "--porcelain",
    "--untracked-files=normal",
    "--ignore-submodules=none",
  );
  if (status !== "") return { reason: "uncommitted", detail: shorten(status, 500) };
  // What is on a branch stays when its checkout goes; a commit that no branch has would be lost with it.
  if ((await inside.run("rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--remotes")) !== "")
    return { reason: "unpushed", detail: "HEAD" };
  const submodules = await findSubmodules(repository, path, place, signal);
  for (const submodule of submodules)
    if (await hasOwnCommit(submodule, place, signal))
      return { reason: "unpushed", detail: `HEAD of ${submodule.path}` };
  // git removes none that has submodules, except with force. Moved aside, it is still there for a while.
  if (submodules.length > 0) await moveAside(path, taskId, place);
  for (const submodule of submodules) await forgetSubmodule(submodule, place, signal);
  // Never with force: git looks once more, and what has changed since is kept.
  const { ok, reason } = await git.try("worktree", "remove", "--", path);
  return ok ? undefined : { reason: "git-refused", detail: reason };
}

async function deleteBranch(git: Git, branch: string): Promise<void> {
  if (!(await isBranch(git, branch)) || !(await isOnRemote(git, `refs/heads/${branch}`))) return;
  await git.try("branch", "-D", "--", branch); // refused while another checkout has it, and then it stays
}

async function isOnRemote(git: Git, head: string): Promise<boolean> {
  return (await git.run("rev-list", "--max-count=1", head, "--not", "--remotes")) === "";
}
