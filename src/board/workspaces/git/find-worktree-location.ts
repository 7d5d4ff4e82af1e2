import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../../lib/errors.ts";
import type { Task } from "../../task.ts";
import {
  folderNameOf,
  isInside,
  requireAbsolute,
  type WorkspaceLocation,
  workspaceRefused,
} from "../workspace.ts";
import { identityOf } from "../workspace-record.ts";
import { createGit, listWorktrees, type Worktree } from "./git.ts";

/** The repository, path and branch for the worktree of a task. */
export interface WorktreeLocation {
  /** The main checkout. */
  readonly repository: string;
  readonly path: string;
  readonly branch: string;
  /** Whether this checkout already exists and was not created by us. */
  readonly isGiven: boolean;
}

export const WORKTREES_FOLDER = ".worktrees";

/** Chooses by the task and the files on disk; throws `workspace-refused` when no repository is found. */
export async function findWorktreeLocation(
  task: Pick<Task, "id" | "branch_name" | "workspace_path">,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<WorktreeLocation> {
  const branch = task.branch_name ?? `wt/${folderNameOf(task.id)}`;
  const named = task.workspace_path ?? location.defaultWorkdir;
  if (named === null)
    throw workspaceRefused(
      `${task.id} needs a worktree, but neither the task nor its board names a repository.`,
    );
  const wanted = requireAbsolute(named, "A worktree");
  const found = await nearestCheckout(wanted, location, signal);
  const repository = found?.repository ?? (await defaultRepository(location, signal));
  if (repository === undefined) throw workspaceRefused(`${wanted} is not in a git repository.`);
  const checkoutAt = async (path: string): Promise<Worktree | undefined> =>
    (await identityOf(path)) === undefined
      ? undefined
      : found?.checkouts.find((checkout) => checkout.path === path);
  const ownFolder = await ownPath(repository, task.id);
  const existing = await checkoutAt(ownFolder);
  const own = {
    repository,
    path: ownFolder,
    branch: existing?.branch ?? branch,
    isGiven: existing !== undefined,
  };
  if (task.workspace_path === null) return own; // the board's folder selects the repository, never a checkout
  const real = await resolveLinks(wanted);
  if (real === repository) return own;
  const checkout = await checkoutAt(real);
  if (checkout !== undefined)
    return checkout.branch === branch ? { repository, path: real, branch, isGiven: true } : own;
  if (await isMissingOrEmpty(real)) return { repository, path: real, branch, isGiven: false };
  if (found !== undefined) return own;
  throw workspaceRefused(`${wanted} is not empty and is not a git checkout.`);
}

async function nearestCheckout(path: string, location: WorkspaceLocation, signal: AbortSignal) {
  const folder = await nearestFolder(path);
  const git = createGit(folder, location.env, signal);
  if (!(await git.try("rev-parse", "--git-dir")).ok) return undefined;
  const checkouts = await listWorktrees(git);
  const repository = checkouts[0]?.path;
  if (repository === undefined) throw workspaceRefused("git lists no checkout of the repository.");
  return { repository: await resolveLinks(repository), checkouts };
}

async function defaultRepository(
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (location.defaultWorkdir === null) return undefined;
  const folder = requireAbsolute(location.defaultWorkdir, "The board's folder");
  return (await nearestCheckout(folder, location, signal))?.repository;
}

/** The default worktree path of a task inside the repository; throws when a link leads outside the repository. */
async function ownPath(repository: string, taskId: string): Promise<string> {
  const path = await resolveLinks(join(repository, WORKTREES_FOLDER, folderNameOf(taskId)));
  if (isInside(repository, path)) return path;
  throw workspaceRefused(
    `${join(repository, WORKTREES_FOLDER)} links to a folder outside of the repository.`,
  );
}

async function nearestFolder(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw toWorkspaceError(path, error);
  }
  return nearestFolder(dirname(path));
}

/** The real path of the existing part, followed by the missing part. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw toWorkspaceError(path, error);
    const folder = dirname(path);
    return folder === path
      ? path
      : join(await resolveLinks(folder), path.slice(folder.length).replace(/^\//, ""));
  }
}

/** Whether the path does not exist or is an empty folder. */
export async function isMissingOrEmpty(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    throw toWorkspaceError(path, error);
  }
}

function toWorkspaceError(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  return errno === undefined
    ? error
    : workspaceRefused(`${path} cannot be used as a folder (${errno}).`, error);
}
