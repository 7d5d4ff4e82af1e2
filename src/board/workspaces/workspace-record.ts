import { createHash } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/files/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { listNames } from "../../lib/files/unless-missing.ts";
import type { WorkspaceRecord } from "./record-schema.ts";
import { folderNameOf } from "./workspace.ts";

const RECORDS = ".made";
const SUFFIX = ".json";
const LOCK_DEADLINE_MS = 10 * 60_000; // enough for the checkout of a large repository

/** The record of a task's workspace; undefined if it does not exist or is invalid. */
export async function findRecord(root: string, taskId: string): Promise<WorkspaceRecord | undefined> {
  const text = await readTextFile(recordPath(root, taskId));
  if (text === undefined) return undefined;
  const { recordSchema } = await import("./record-schema.ts"); // loaded late, because few callers read a record
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export async function writeRecord(root: string, taskId: string, record: WorkspaceRecord): Promise<void> {
  await ensurePrivateFolder(join(root, RECORDS));
  await writeFileAtomic(recordPath(root, taskId), `${JSON.stringify(record)}\n`, { mode: 0o600 });
}

export async function removeRecord(root: string, taskId: string): Promise<void> {
  await rm(recordPath(root, taskId), { force: true });
}

/** The ids of the tasks with records. */
export async function recordedTasks(root: string): Promise<readonly string[]> {
  const names = await listNames(join(root, RECORDS));
  return names
    .filter((name) => name.endsWith(SUFFIX) && !name.startsWith("."))
    .map((name) => name.slice(0, -SUFFIX.length));
}

/**
 * Runs `action` while no other process creates or removes the workspace of a task, or a worktree of a repository, because git
 * fails on incomplete worktrees. Take the lock of the task first. A lock file can never be removed, so all tasks share sixteen.
 */
export async function withWorkspaceLock<Result>(
  root: string,
  locked: { readonly taskId: string } | { readonly repository: string },
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  await ensurePrivateFolder(join(root, RECORDS));
  const name = "taskId" in locked ? shardOf(locked.taskId) : `repository-${shardOf(locked.repository)}`;
  const path = join(root, RECORDS, `lock-${name}`);
  return withFileLock({ path, deadlineMs: LOCK_DEADLINE_MS }, action, signal);
}

/** Distinguishes a folder from a later one at the same path; undefined when the path is not a folder. */
export async function identityOf(path: string): Promise<string | undefined> {
  try {
    const facts = await lstat(path, { bigint: true });
    // Without the device number, which may change with a reboot.
    return facts.isDirectory() ? `${facts.ino}:${facts.birthtimeNs}` : undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function shardOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 1);
}

function recordPath(root: string, taskId: string): string {
  return join(root, RECORDS, `${folderNameOf(taskId)}${SUFFIX}`);
}
