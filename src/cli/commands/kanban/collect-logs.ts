import type { Dirent } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { boardsPlace } from "../../../app.ts";
import { taskLogFolder } from "../../../board/worker/run-log.ts";
import { AppError, errnoOf } from "../../../lib/errors.ts";
import type { OpenDesk } from "./desk.ts";

const TASK = /^t_[0-9a-f]+$/;
const LOG = /^\d+\.log(\.\d+)?$/;

/** Deletes logs of tasks that are over, or gone, which nobody has written to for `ageMs`; says how many. */
export async function collectLogs(open: OpenDesk, ageMs: number): Promise<number> {
  const { app, store, signal } = open;
  const before = Date.now() - ageMs;
  const root = dirname(taskLogFolder(boardsPlace(app).root, store.slug, "any"));
  let deleted = 0;
  for (const entry of await entriesOf(root)) {
    signal.throwIfAborted();
    if (!entry.isDirectory() || !TASK.test(entry.name) || !(await isOver(open, entry.name))) continue;
    deleted += await deleteOld(join(root, entry.name), before);
  }
  return deleted;
}

async function isOver({ store, signal }: OpenDesk, taskId: string): Promise<boolean> {
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
  if (deleted === entries.length) await removeEmpty(folder);
  return deleted;
}

async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "ENOENT") throw error; // a run has just begun, or another gc
  }
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
