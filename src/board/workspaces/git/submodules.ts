import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceLocation } from "../workspace.ts";
import { createGit, type Git } from "./git.ts";

const GITLINK = /^160000 ([0-9a-f]+) \d\t(.+)$/s;

interface Submodule {
  /** The path of the submodule in the repository from which the worktree was created. */
  readonly mainPath: string;
  readonly path: string;
  readonly commit: string;
}

type GitEnvironment = Pick<WorkspaceLocation, "env">;

/**
 * Checks out the submodules of a new worktree. For each submodule that the main repository has checked out, adds a git
 * worktree of it, so that nothing is fetched and no URL from the repository is used. If a commit is missing, the folder
 * of the submodule stays empty, as with git.
 */
export async function checkOutSubmodules(
  repository: string,
  path: string,
  location: GitEnvironment,
  signal: AbortSignal,
): Promise<void> {
  for (const submodule of await listSubmodules(repository, path, location, signal)) {
    const git = createGit(submodule.mainPath, location.env, signal);
    // With force, because an interrupted attempt may have left an entry for this worktree.
    const add = ["worktree", "add", "--force", "--detach", "--", submodule.path, submodule.commit];
    if (!(await isCheckout(submodule.mainPath)) || !(await git.try(...add)).ok) continue;
    await checkOutSubmodules(submodule.mainPath, submodule.path, location, signal);
  }
}

/** The submodules of a worktree, including nested ones. */
export async function findSubmodules(
  repository: string,
  path: string,
  location: GitEnvironment,
  signal: AbortSignal,
): Promise<readonly Submodule[]> {
  const found: Submodule[] = [];
  for (const submodule of await listSubmodules(repository, path, location, signal)) {
    found.push(submodule);
    if (await isCheckout(submodule.path))
      found.push(...(await findSubmodules(submodule.mainPath, submodule.path, location, signal)));
  }
  return found;
}

/** Whether the HEAD of a submodule is a commit that is on no branch and no remote. */
export async function hasOwnCommit(
  { path }: Submodule,
  { env }: GitEnvironment,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await isCheckout(path))) return false;
  const git = createGit(path, env, signal);
  return (await git.run("rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--remotes")) !== "";
}

/** Removes git's entry for a submodule checkout whose folder was removed. */
export async function removeSubmoduleEntry(
  { mainPath, path }: Submodule,
  { env }: GitEnvironment,
  signal: AbortSignal,
): Promise<void> {
  // The main repository has no entry for a submodule that the worker fetched itself; that submodule was removed together
  // with the folder.
  if (await isCheckout(mainPath))
    await createGit(mainPath, env, signal).try("worktree", "remove", "--", path);
}

async function listSubmodules(
  repository: string,
  path: string,
  { env }: GitEnvironment,
  signal: AbortSignal,
): Promise<readonly Submodule[]> {
  const git: Git = createGit(path, env, signal);
  const entries = (await git.run("ls-files", "--stage", "-z")).split("\0");
  return entries.flatMap((entry) => {
    const [, commit, name] = GITLINK.exec(entry) ?? [];
    if (commit === undefined || name === undefined) return [];
    return [{ mainPath: join(repository, name), path: join(path, name), commit }];
  });
}

async function isCheckout(path: string): Promise<boolean> {
  return (await lstat(join(path, ".git")).catch(() => undefined)) !== undefined;
}
