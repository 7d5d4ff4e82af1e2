import { shorten } from "../../../lib/text/shorten.ts";
import type { KeepReason } from "../cleanup.ts";
import { moveToQuarantine } from "../quarantine.ts";
import type { WorkspaceRecord } from "../record-schema.ts";
import type { WorkspaceLocation } from "../workspace.ts";
import { identityOf } from "../workspace-record.ts";
import { createGit, type Git, listWorktrees } from "./git.ts";
import { findSubmodules, hasOwnCommit, removeSubmoduleEntry } from "./submodules.ts";
import { branchExists, discardIncomplete } from "./worktree.ts";

interface KeptWorktree {
  readonly reason: KeepReason;
  readonly detail?: string;
}

/** Removes a committed worktree that we created, and its own branch if it is on a remote; else returns why it is kept. */
export async function removeWorktree(
  taskId: string,
  record: WorkspaceRecord,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<KeptWorktree | undefined> {
  const { path, identity, worktree } = record;
  if (worktree === undefined) return { reason: "not-ours" };
  const current = await identityOf(path);
  if ((await identityOf(worktree.repository)) === undefined)
    return current === undefined
      ? undefined
      : { reason: "not-ours", detail: `${worktree.repository} no longer exists` };
  const git = createGit(worktree.repository, location.env, signal);
  if (current === undefined || identity === null) await discardIncomplete(taskId, record, location, signal);
  else {
    const kept =
      current === identity
        ? await removeClean(git, { taskId, path, repository: worktree.repository }, location, signal)
        : ({ reason: "not-ours" } as const);
    if (kept !== undefined) return kept;
  }
  // Checked even without a folder, because a crash may have happened after the folder and before the branch was removed.
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
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<KeptWorktree | undefined> {
  if (!(await listWorktrees(git)).some((checkout) => checkout.path === path)) return { reason: "not-ours" };
  const inside = createGit(path, location.env, signal);
  const status = await inside.run(
    "status",
    "--porcelain",
    "--untracked-files=normal",
    "--ignore-submodules=none",
  );
  if (status !== "") return { reason: "uncommitted", detail: shorten(status, 500) };
  // Commits on a branch survive the removal of the checkout; a commit on no branch would be lost.
  if ((await inside.run("rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--remotes")) !== "")
    return { reason: "unpushed", detail: "HEAD" };
  const submodules = await findSubmodules(repository, path, location, signal);
  for (const submodule of submodules)
    if (await hasOwnCommit(submodule, location, signal))
      return { reason: "unpushed", detail: `HEAD of ${submodule.path}` };
  // git removes a worktree with submodules only with force, so its folder is moved to the quarantine instead.
  if (submodules.length > 0) await moveToQuarantine(path, taskId, location);
  for (const submodule of submodules) await removeSubmoduleEntry(submodule, location, signal);
  // Never with force: git checks once more and keeps a worktree that was changed since.
  const { ok, reason } = await git.try("worktree", "remove", "--", path);
  return ok ? undefined : { reason: "git-refused", detail: reason };
}

async function deleteBranch(git: Git, branch: string): Promise<void> {
  if (!(await branchExists(git, branch))) return;
  const local = await git.run("rev-list", "--max-count=1", `refs/heads/${branch}`, "--not", "--remotes");
  if (local !== "") return;
  await git.try("branch", "-D", "--", branch); // git refuses while another checkout uses the branch
}
