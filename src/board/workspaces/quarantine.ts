import { randomBytes } from "node:crypto";
import { chmod, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf, messageOf } from "../../lib/errors.ts";
import { ensurePrivateFolder } from "../../lib/files/files.ts";
import { listNames } from "../../lib/files/unless-missing.ts";

export interface Quarantine {
  readonly quarantine: string;
  now(): number;
}

/** Moves a file or folder atomically to the quarantine and returns its new path; `emptyQuarantine` deletes it later. */
export async function moveToQuarantine(path: string, label: string, location: Quarantine): Promise<string> {
  await ensurePrivateFolder(location.quarantine);
  const target = join(location.quarantine, `${location.now()}-${label}-${randomBytes(4).toString("hex")}`);
  try {
    await rename(path, target);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new AppError(
      "file-unwritable",
      `Cannot move ${path} to ${location.quarantine}: ${messageOf(error)}.`,
      {
        hint: "It was not moved. Both paths must be on one file system, in folders that hermes can write to.",
        cause: error,
      },
    );
  }
  return target;
}

export interface EmptiedQuarantine {
  readonly deleted: number;
  /** The entries that could not be deleted, such as files of another user, each with its reason. */
  readonly failures: readonly string[];
}

const ENTRY = /^(\d{12,15})-./;

/** Deletes the entries that were moved to the quarantine at least `keepMs` ago, and no other files there. */
export async function emptyQuarantine(
  location: Quarantine,
  keepMs: number,
  signal: AbortSignal,
): Promise<EmptiedQuarantine> {
  const failures: string[] = [];
  let deleted = 0;
  for (const name of await listNames(location.quarantine)) {
    signal.throwIfAborted();
    const movedAt = ENTRY.exec(name)?.[1];
    if (movedAt === undefined || Number(movedAt) > location.now() - keepMs) continue;
    try {
      await deleteAll(join(location.quarantine, name));
      deleted++;
    } catch (error) {
      failures.push(`${name}: ${messageOf(error)}`);
    }
  }
  return { deleted, failures };
}

/** Deletes links without following them. */
async function deleteAll(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true });
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return; // deleted by another process
    if (errnoOf(error) !== "EACCES") throw error;
    await makeWritable(path); // package caches make their folders read-only
    await rm(path, { recursive: true, force: true });
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
}
