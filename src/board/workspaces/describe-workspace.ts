import { lstat } from "node:fs/promises";
import type { Task } from "../task.ts";
import { createGit } from "./git.ts";
import type { WorkspacePlace } from "./workspace.ts";
import { findRecord } from "./workspace-record.ts";

/** What a person wants to know of the folder of a task; null where there is nothing, or nothing on this host. */
export interface WorkspaceFacts {
  readonly path: string | null;
  readonly branch: string | null;
  /** What differs from the commit at which the branch began, in git's words. */
  readonly changes: string | null;
}

/** Looks at the workspace of a task, and makes none. */
export async function describeWorkspace(
  task: Task,
  place: WorkspacePlace,
  signal: AbortSignal,
): Promise<WorkspaceFacts> {
  const record = await findRecord(place.workspaces, task.id);
  const path = record?.path ?? (task.workspace_kind === "dir" ? task.workspace_path : null);
  const branch = record?.worktree?.branch ?? task.branch_name;
  const repository = record?.worktree?.repository;
  if (path === null || !(await isThere(path))) return { path: null, branch, changes: null };
  try {
    const changes = repository === undefined ? null : await changesIn(path, repository, place, signal);
    return { path, branch, changes };
  } catch (error) {
    if (await isThere(path)) throw error;
    return { path: null, branch, changes: null }; // removed while we looked, because its task is done
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

async function changesIn(
  path: string,
  repository: string,
  { env }: WorkspacePlace,
  signal: AbortSignal,
): Promise<string | null> {
  const git = createGit(path, env, signal);
  const main = await createGit(repository, env, signal).try("rev-parse", "HEAD");
  const base = main.ok ? await git.try("merge-base", "HEAD", main.stdout.trim()) : main;
  const stat = await git.try("diff", "--shortstat", base.ok ? base.stdout.trim() : "HEAD");
  const untracked = await git.try("ls-files", "--others", "--exclude-standard");
  const count = untracked.stdout.split("\n").filter((line) => line !== "").length;
  const said = [stat.stdout.trim(), count === 0 ? "" : `${count} new ${count === 1 ? "file" : "files"}`];
  return said.filter((one) => one !== "").join(", ") || "none";
}
