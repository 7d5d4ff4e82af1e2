import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import type { Task } from "../task.ts";
import { createGit, type Git, listWorktrees, type Worktree } from "./git.ts";
import {
  folderNameOf,
  isInside,
  requireAbsolute,
  type WorkspacePlace,
  workspaceRefused,
} from "./workspace.ts";
import { identityOf } from "./workspace-record.ts";

/** Where the worktree of a task belongs. */
export interface WorktreePlace {
  /** The main checkout. */
  readonly repository: string;
  readonly path: string;
  readonly branch: string;
  /** Whether this very checkout is there already and was not made by us. */
  readonly isGiven: boolean;
}

export const OWN_FOLDER = ".worktrees";

/** Decides by the task and by what is on the disk; throws `workspace-refused` when no repository can be meant. */
export async function findWorktreePlace(
  task: Pick<Task, "id" | "branch_name" | "workspace_path">,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<WorktreePlace> {
  const branch = task.branch_name ?? `wt/${folderNameOf(task.id)}`;
  const named = task.workspace_path ?? place.defaultWorkdir;
  if (named === null)
    throw workspaceRefused(`${task.id} wants a worktree, but neither it nor its board names a repository.`);
  const wanted = requireAbsolute(named, "A worktree");
  const found = await nearestCheckout(wanted, place, signal);
  const repository = found?.repository ?? (await defaultRepository(place, signal));
  if (repository === undefined) throw workspaceRefused(`${wanted} is in no git repository.`);
  const checkoutAt = async (path: string): Promise<Worktree | undefined> =>
    (await identityOf(path)) === undefined
      ? undefined
      : found?.checkouts.find((checkout) => checkout.path === path);
  const ownFolder = await ownPath(repository, task.id);
  const standing = await checkoutAt(ownFolder);
  const own = {
    repository,
    path: ownFolder,
    branch: standing?.branch ?? branch,
    isGiven: standing !== undefined,
  };
  if (task.workspace_path === null) return own; // the board's folder says which repository, never which checkout
  const real = await whereItLeads(wanted);
  if (real === repository) return own;
  const checkout = await checkoutAt(real);
  if (checkout !== undefined)
    return checkout.branch === branch ? { repository, path: real, branch, isGiven: true } : own;
  if (await isFree(real)) return { repository, path: real, branch, isGiven: false };
  if (found !== undefined) return own;
  throw workspaceRefused(`${wanted} is not empty and not a checkout.`);
}

async function nearestCheckout(path: string, place: WorkspacePlace, signal: AbortSignal) {
  const folder = await nearestFolder(path);
  const git = createGit(folder, place.env, signal);
  if (!(await git.try("rev-parse", "--git-dir")).ok) return undefined;
  return describe(git);
}

async function defaultRepository(place: WorkspacePlace, signal: AbortSignal): Promise<string | undefined> {
  if (place.defaultWorkdir === null) return undefined;
  const folder = requireAbsolute(place.defaultWorkdir, "The board's folder");
  return (await nearestCheckout(folder, place, signal))?.repository;
}

async function describe(git: Git) {
  const checkouts = await listWorktrees(git);
  const repository = checkouts[0]?.path;
  if (repository === undefined) throw workspaceRefused("git names no checkout of the repository.");
  return { repository: await whereItLeads(repository), checkouts };
}

/** The task's own place in the repository; a link in it must not lead the worktree somewhere else. */
async function ownPath(repository: string, taskId: string): Promise<string> {
  const path = await whereItLeads(join(repository, OWN_FOLDER, folderNameOf(taskId)));
  if (isInside(repository, path)) return path;
  throw workspaceRefused(`${join(repository, OWN_FOLDER)} leads out of the repository.`);
}

async function nearestFolder(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw unreachable(path, error);
  }
  return nearestFolder(dirname(path));
}

/** The path without links, as far as it exists. */
async function whereItLeads(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw unreachable(path, error);
    const folder = dirname(path);
    return folder === path
      ? path
      : join(await whereItLeads(folder), path.slice(folder.length).replace(/^\//, ""));
  }
}

/** Whether nothing is there, or an empty folder. */
export async function isFree(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    throw unreachable(path, error);
  }
}

function unreachable(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  return errno === undefined
    ? error
    : workspaceRefused(`${path} cannot be a folder to work in (${errno}).`, error);
}
