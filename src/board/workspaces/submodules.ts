import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { createGit, type Git } from "./git.ts";
import type { WorkspacePlace } from "./workspace.ts";

const GITLINK = /^160000 ([0-9a-f]+) \d\t(.+)$/s;

interface Submodule {
  /** In the repository from which the worktree was made. */
  readonly main: string;
  readonly path: string;
  readonly commit: string;
}

type Surroundings = Pick<WorkspacePlace, "env">;

/**
 * Checks the submodules of a new worktree out, as far as the repository that it was made from has them: as worktrees of
 * theirs, so that nothing is fetched and no address that somebody wrote into the repository is followed. A commit that is
 * not there leaves its folder empty, as git does.
 */
export async function fillSubmodules(
  repository: string,
  path: string,
  place: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  for (const submodule of await listSubmodules(repository, path, place, signal)) {
    const git = createGit(submodule.main, place.env, signal);
    // With force, because a try that was cut off may have left a note of it.
    const add = ["worktree", "add", "--force", "--detach", "--", submodule.path, submodule.commit];
    if (!(await isCheckout(submodule.main)) || !(await git.try(...add)).ok) continue;
    await fillSubmodules(submodule.main, submodule.path, place, signal);
  }
}

/** The submodules that a worktree has checked out, nested ones too. */
export async function findSubmodules(
  repository: string,
  path: string,
  place: Surroundings,
  signal: AbortSignal,
): Promise<readonly Submodule[]> {
  const found: Submodule[] = [];
  for (const submodule of await listSubmodules(repository, path, place, signal)) {
    found.push(submodule);
    if (await isCheckout(submodule.path))
      found.push(...(await findSubmodules(submodule.main, submodule.path, place, signal)));
  }
  return found;
}

/** Whether a submodule is at a commit that no branch and no remote has. */
export async function hasOwnCommit(
  { path }: Submodule,
  { env }: Surroundings,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await isCheckout(path))) return false;
  const git = createGit(path, env, signal);
  return (await git.run("rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--remotes")) !== "";
}

/** Drops the note of a submodule's checkout whose folder is gone. */
export async function forgetSubmodule(
  { main, path }: Submodule,
  { env }: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  // One that the worker has fetched by itself is not known there, and went with the folder.
  if (await isCheckout(main)) await createGit(main, env, signal).try("worktree", "remove", "--", path);
}

async function listSubmodules(
  repository: string,
  path: string,
  { env }: Surroundings,
  signal: AbortSignal,
): Promise<readonly Submodule[]> {
  const git: Git = createGit(path, env, signal);
  const entries = (await git.run("ls-files", "--stage", "-z")).split("\0");
  return entries.flatMap((entry) => {
    const [, commit, name] = GITLINK.exec(entry) ?? [];
    if (commit === undefined || name === undefined) return [];
    return [{ main: join(repository, name), path: join(path, name), commit }];
  });
}

async function isCheckout(path: string): Promise<boolean> {
  return (await lstat(join(path, ".git")).catch(() => undefined)) !== undefined;
}
