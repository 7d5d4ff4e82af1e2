import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../lib/errors.ts";
import { listNames, unlessMissing } from "../../lib/files/unless-missing.ts";
import type { BoardStore } from "../board-store.ts";
import { moveToQuarantine } from "../workspaces/quarantine.ts";
import { type AttachmentFolders, copyFolder } from "./attachment-files.ts";

const GRACE_MS = 60 * 60_000; // the row of a younger file may not be written yet

/** Moves files without a row, if older than an hour, to quarantine; returns their original paths. */
export async function collectAttachments(
  { store, folders }: { readonly store: BoardStore; readonly folders: AttachmentFolders },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const collected: string[] = [];
  for (const taskId of await listNames(folders.attachments)) {
    const folder = join(folders.attachments, taskId);
    if (!(await lstat(folder)).isDirectory()) continue;
    // List the files before the rows: a row written in between belongs to a file that is not listed or is young.
    const names = await listNames(folder);
    const known = await knownPaths({ store, folders }, taskId, signal);
    for (const name of names) {
      const path = join(folder, name);
      if (known.has(path) || !(await isOld(path, folders.now()))) continue;
      await moveToQuarantine(path, taskId, folders);
      collected.push(path);
    }
  }
  return collected;
}

async function knownPaths(
  { store, folders }: { readonly store: BoardStore; readonly folders: AttachmentFolders },
  taskId: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const { attachments } = await store.show(taskId, signal);
    return new Set(
      attachments.map((row) => (row.content_key === null ? row.stored_path : copyFolder(folders, row))),
    );
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return new Set();
    throw error;
  }
}

async function isOld(path: string, now: number): Promise<boolean> {
  const found = await unlessMissing(lstat(path));
  return found !== undefined && found.ctimeMs < now - GRACE_MS;
}
