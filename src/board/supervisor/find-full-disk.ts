import { statfs } from "node:fs/promises";

/** A disk with less free space counts as full: a log or a database journal needs this much. */
const FULL_BYTES = 1024 * 1024;

/** The first of these folders that lies on a full disk; undefined when none does or the free space is unknown. */
export async function findFullDisk(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const facts = await statfs(folder).catch(() => undefined);
    if (facts !== undefined && facts.blocks > 0 && facts.bavail * facts.bsize < FULL_BYTES) return folder;
  }
  return undefined;
}
