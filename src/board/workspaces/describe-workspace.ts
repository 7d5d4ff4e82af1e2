import { lstat } from "node:fs/promises";
import type { Task } from "../task.ts";
import { createGit } from "./git/git.ts";
import type { WorkspaceLocation } from "./workspace.ts";
import { findRecord } from "./workspace-record.ts";

/** Facts about the workspace of a task; null where it does not exist on this host. */
export interface WorkspaceFacts {
  readonly path: string | null;
  readonly branch: string | null;
  /** Git's summary of what has changed since the commit at which the branch started. */
  readonly changes: string | null;
}

/** Inspects the workspace of a task without creating it. */
export async function describeWorkspace(
  task: Task,
  location: WorkspaceLocation,
  signal: AbortSignal,
): Promise<WorkspaceFacts> {
  const record = await findRecord(location.workspaces, task.id);
  const path = record?.path ?? (task.workspace_kind === "dir" ? task.workspace_path : null);
  const branch = record?.worktree?.branch ?? task.branch_name;
  const repository = record?.worktree?.repository;
  if (path === null || !(await folderExists(path))) return { path: null, branch, changes: null };
  try {
    const changes = repository === undefined ? null : await changesIn(path, repository, location, signal);
    return { path, branch, changes };
  } catch (error) {
    if (await folderExists(path)) throw error;
    return { path: null, branch, changes: null }; // removed during the inspection, because its task is done
  }
}

async function folderExists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

async function changesIn(
  path: string,
  repository: string,
  { env }: WorkspaceLocation,
  signal: AbortSignal,
): Promise<string | null> {
  const git = createGit(path, env, signal);
  const main = await createGit(repository, env, signal).try("rev-parse", "HEAD");
  const base = main.ok ? await git.try("merge-base", "HEAD", main.stdout.trim()) : main;
  const stat = await git.try(
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--shortstat",
    base.ok ? base.stdout.trim() : "HEAD",
  );
  const untracked = await git.try("ls-files", "--others", "--exclude-standard");
  const count = untracked.stdout.split("\n").filter((line) => line !== "").length;
  const parts = [stat.stdout.trim(), count === 0 ? "" : `${count} new ${count === 1 ? "file" : "files"}`];
  return parts.filter((part) => part !== "").join(", ") || "none";
}
