import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";
import { shorten } from "../../lib/shorten.ts";
import type { WorkspaceKind } from "../task.ts";
import type { Quarantine } from "./quarantine.ts";

/** Where workspaces are made and what making them needs. */
export interface WorkspacePlace extends Quarantine {
  /** The managed root: below it, and only there, scratch folders come and go. */
  readonly workspaces: string;
  /** The person's home, which is never taken for a managed root. */
  readonly home: string;
  /** The board's folder for worktrees of tasks that name none. */
  readonly defaultWorkdir: string | null;
  /** Of the git processes; its own `GIT_*` variables are left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A folder in which a task can be worked on. */
export interface Workspace {
  readonly kind: WorkspaceKind;
  readonly path: string;
  /** Of a worktree. */
  readonly branch?: string;
}

export function workspaceRefused(message: string, cause?: unknown): AppError {
  return new AppError("workspace-refused", message, { cause });
}

const TASK_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** A task's id as the name of a folder; throws for one that could lead elsewhere. */
export function folderNameOf(taskId: string): string {
  if (TASK_NAME.test(taskId)) return taskId;
  throw workspaceRefused(`${JSON.stringify(shorten(taskId, 60))} cannot be the name of a folder.`);
}

/** The real path of the managed root, made if it is missing; throws for a folder that holds a person's own things. */
export async function openManagedRoot({ workspaces, home }: WorkspacePlace): Promise<string> {
  const named = resolve(requireAbsolute(workspaces, "The folder of workspaces"));
  requireApart(named, resolve(home));
  await ensurePrivateFolder(named);
  const root = await realpath(named);
  requireApart(root, await realpath(home));
  return root;
}

function requireApart(root: string, home: string): void {
  if (root === home || isInside(root, home)) throw workspaceRefused(`${root} is no folder for workspaces.`);
}

export function requireAbsolute(path: string, what: string): string {
  if (!isAbsolute(path) || path.includes("\0"))
    throw workspaceRefused(
      `${what} needs an absolute path, and ${JSON.stringify(shorten(path, 200))} is none.`,
    );
  return path;
}

/** Whether `path` lies below `folder`, as the two are written. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}
