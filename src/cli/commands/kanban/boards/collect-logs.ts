import type { Dirent } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { boardsLocation } from "../../../../app/board.ts";
import { taskLogFolder } from "../../../../board/supervisor/log/run-log.ts";
import { AppError, errnoOf } from "../../../../lib/errors.ts";
import { unlessMissing } from "../../../../lib/files/unless-missing.ts";
import type { OpenBoardContext } from "../kanban-context.ts";

const TASK = /^t_[0-9a-f]+$/;
const LOG = /^\d+\.log(\.\d+)?$/;

/** Deletes logs of finished or deleted tasks that were not written to for `ageMs`. Returns their number. */
export async function collectLogs(open: OpenBoardContext, ageMs: number): Promise<number> {
  const { app, store, signal } = open;
  const before = Date.now() - ageMs;
  const root = dirname(taskLogFolder(boardsLocation(app).root, store.slug, "any"));
  let deleted = 0;
  for (const entry of await entriesOf(root)) {
    signal.throwIfAborted();
    if (!entry.isDirectory() || !TASK.test(entry.name) || !(await isFinished(open, entry.name))) continue;
    deleted += await deleteOld(join(root, entry.name), before);
  }
  return deleted;
}

async function isFinished({ store, signal }: OpenBoardContext, taskId: string): Promise<boolean> {
  try {
    const { status } = (await store.show(taskId, signal)).task;
    return status === "done" || status === "archived";
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return true;
    throw error;
  }
}

async function deleteOld(folder: string, before: number): Promise<number> {
  let deleted = 0;
  const entries = await entriesOf(folder);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (!entry.isFile() || !LOG.test(entry.name) || (await lstat(path)).mtimeMs >= before) continue;
    await rm(path, { force: true });
    deleted++;
  }
  if (deleted === entries.length)
    await rmdir(folder).catch((error: unknown) => {
      // A run has just started, or another gc removed the folder.
      if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "ENOENT") throw error;
    });
  return deleted;
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  return (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
}
