import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import { moveAside, namesIn } from "../workspaces/quarantine.ts";
import { type AttachmentPlace, copyFolder } from "./attachment-files.ts";

const GRACE_MS = 60 * 60_000;

/**
 * Moves aside the files that no task knows of: of attachments that a crash left without a row, and of purged tasks. A file
 * younger than an hour may still get its row. Says which files they were.
 */
export async function collectAttachments(
  { store, place }: { readonly store: BoardStore; readonly place: AttachmentPlace },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const collected: string[] = [];
  for (const taskId of await namesIn(place.attachments)) {
    const folder = join(place.attachments, taskId);
    if (!(await lstat(folder)).isDirectory()) continue;
    // Files first: a row that is written meanwhile belongs to a file that is not in this list, or is young.
    const names = await namesIn(folder);
    const known = await knownPaths({ store, place }, taskId, signal);
    for (const name of names) {
      const path = join(folder, name);
      if (known.has(path) || !(await isOld(path, place.now()))) continue;
      await moveAside(path, taskId, place);
      collected.push(path);
    }
  }
  return collected;
}

async function knownPaths(
  { store, place }: { readonly store: BoardStore; readonly place: AttachmentPlace },
  taskId: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const { attachments } = await store.show(taskId, signal);
    return new Set(
      attachments.map((row) => (row.content_key === null ? row.stored_path : copyFolder(place, row))),
    );
  } catch (error) {
    if (error instanceof AppError && error.code === "task-not-found") return new Set();
    throw error;
  }
}

async function isOld(path: string, now: number): Promise<boolean> {
  try {
    return (await lstat(path)).ctimeMs < now - GRACE_MS;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}
