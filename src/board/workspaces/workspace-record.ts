import { createHash } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { errnoOf } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files.ts";
import { namesIn } from "./quarantine.ts";
import { folderNameOf } from "./workspace.ts";

const RECORDS = ".made";
const SUFFIX = ".json";
const LOCK_DEADLINE_MS = 10 * 60_000; // a checkout of a large repository takes its time

const recordSchema = z.object({
  kind: z.enum(["scratch", "worktree"]),
  path: z.string(),
  /** Of the folder once it is complete; null says that it is being made, or that its maker died over it. */
  identity: z.string().nullable(),
  worktree: z.object({ repository: z.string(), branch: z.string(), madeBranch: z.boolean() }).optional(),
});

/** The proof that a folder is one of ours. It stands outside of the folder, which a worker should find empty. */
export type WorkspaceRecord = z.infer<typeof recordSchema>;

/** What we know of the workspace of a task; a record that cannot be read proves nothing. */
export async function findRecord(root: string, taskId: string): Promise<WorkspaceRecord | undefined> {
  const text = await readTextFile(recordPath(root, taskId));
  if (text === undefined) return undefined;
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof z.ZodError || error instanceof SyntaxError) return undefined;
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

/** The tasks of which there are records. */
export async function recordedTasks(root: string): Promise<readonly string[]> {
  const names = await namesIn(join(root, RECORDS));
  return names
    .filter((name) => name.endsWith(SUFFIX) && !name.startsWith("."))
    .map((name) => name.slice(0, -SUFFIX.length));
}

/**
 * Runs `action` while nobody else makes or removes the workspace of this task. Sixteen locks serve all tasks, because a
 * lock's file can never be removed.
 */
export async function withWorkspaceLock<Result>(
  root: string,
  taskId: string,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return withLock(root, `lock-${shardOf(taskId)}`, action, signal);
}

/** One at a time makes worktrees of a repository: git stumbles over those that are half made. Taken after that of a task. */
export async function withRepositoryLock<Result>(
  root: string,
  repository: string,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return withLock(root, `lock-repository-${shardOf(repository)}`, action, signal);
}

async function withLock<Result>(
  root: string,
  name: string,
  action: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  await ensurePrivateFolder(join(root, RECORDS));
  return withFileLock({ path: join(root, RECORDS, name), deadlineMs: LOCK_DEADLINE_MS }, action, signal);
}

function shardOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 1);
}

/** What tells a folder from any other that may come to stand in its place; undefined when no folder is there. */
export async function identityOf(path: string): Promise<string | undefined> {
  try {
    const facts = await lstat(path, { bigint: true });
    // Without the device, whose number may be another after a reboot.
    return facts.isDirectory() ? `${facts.ino}:${facts.birthtimeNs}` : undefined;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function recordPath(root: string, taskId: string): string {
  return join(root, RECORDS, `${folderNameOf(taskId)}${SUFFIX}`);
}
