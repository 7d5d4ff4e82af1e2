import { randomBytes } from "node:crypto";
import { chmod, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files.ts";

export interface Quarantine {
  readonly quarantine: string;
  now(): number;
}

/** Moves a file or folder out of the way in one step, and returns where it is now; it is deleted much later. */
export async function moveAside(path: string, label: string, place: Quarantine): Promise<string> {
  await ensurePrivateFolder(place.quarantine);
  const target = join(place.quarantine, `${place.now()}-${label}-${randomBytes(4).toString("hex")}`);
  try {
    await rename(path, target);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new AppError(
      "file-unwritable",
      `Cannot move ${path} to ${place.quarantine}: ${messageOf(error)}.`,
      {
        hint: "It stays where it is. Both must be on one file system, in folders that we can write to.",
        cause: error,
      },
    );
  }
  return target;
}

export interface Emptied {
  readonly deleted: number;
  /** What could not be deleted, such as files of another user, each with its reason. */
  readonly failures: readonly string[];
}

const ENTRY = /^(\d{12,15})-./;

/** Deletes for good what was moved aside at least `keepMs` ago, and nothing else that lies there. */
export async function emptyQuarantine(
  place: Quarantine,
  keepMs: number,
  signal: AbortSignal,
): Promise<Emptied> {
  const failures: string[] = [];
  let deleted = 0;
  for (const name of await namesIn(place.quarantine)) {
    signal.throwIfAborted();
    const movedAt = ENTRY.exec(name)?.[1];
    if (movedAt === undefined || Number(movedAt) > place.now() - keepMs) continue;
    try {
      await deleteAll(join(place.quarantine, name));
      deleted++;
    } catch (error) {
      failures.push(`${name}: ${messageOf(error)}`);
    }
  }
  return { deleted, failures };
}

/** The names in a folder; none when it is not there. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Links are deleted, never followed. */
async function deleteAll(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return; // somebody else was quicker
    if (errnoOf(error) !== "EACCES") throw error;
    await openFolders(path); // package caches make their folders read-only
    await rm(path, { recursive: true, force: true });
  }
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
}
