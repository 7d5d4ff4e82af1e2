import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { WorkspaceKind } from "../task.ts";
import type { Quarantine } from "./quarantine.ts";

/** Where workspaces are created, and the settings for that. */
export interface WorkspaceLocation extends Quarantine {
  /** The managed root, the only folder in which scratch folders are created and removed. */
  readonly workspaces: string;
  /** The user's home, which is never accepted as a managed root. */
  readonly home: string;
  /** The board's folder for tasks that name none. */
  readonly defaultWorkdir: string | null;
  /** The environment of git processes; `GIT_*` variables are removed from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A folder in which a task can be worked on. */
export interface Workspace {
  readonly kind: WorkspaceKind;
  readonly path: string;
  /** The branch of a worktree. */
  readonly branch?: string;
}

export function workspaceRefused(message: string, cause?: unknown): AppError {
  return new AppError("workspace-refused", message, { cause });
}

const TASK_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** A task's id as the name of a folder; throws for an id that could name another path. */
export function folderNameOf(taskId: string): string {
  if (TASK_NAME.test(taskId)) return taskId;
  throw workspaceRefused(`${JSON.stringify(shorten(taskId, 60))} cannot be the name of a folder.`);
}

/** The real path of the managed root, created if missing; throws for the user's home and its parents. */
export async function ensureManagedRoot({ workspaces, home }: WorkspaceLocation): Promise<string> {
  const named = resolve(requireAbsolute(workspaces, "The folder of workspaces"));
  requireOutsideHome(named, resolve(home));
  await ensurePrivateFolder(named);
  const root = await realpath(named);
  requireOutsideHome(root, await realpath(home));
  return root;
}

function requireOutsideHome(root: string, home: string): void {
  if (root === home || isInside(root, home)) throw workspaceRefused(`${root} cannot hold workspaces.`);
}

export function requireAbsolute(path: string, what: string): string {
  if (!isAbsolute(path) || path.includes("\0"))
    throw workspaceRefused(
      `${what} needs an absolute path, but ${JSON.stringify(shorten(path, 200))} is not absolute.`,
    );
  return path;
}

/** Whether `path` is below `folder`; compares only the text of the paths. */
export function isInside(folder: string, path: string): boolean {
  return !/^(\.\.)?(\/|$)/.test(relative(folder, path)); // neither empty, nor upwards, nor absolute
}
