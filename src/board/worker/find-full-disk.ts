import { statfs } from "node:fs/promises";

/** Below this nothing can be counted on: a log or a journal of a database needs as much. */
const FULL_BYTES = 1024 * 1024;

/** The first of these folders that lies on a disk without room; undefined when all have some, or nobody can say. */
export async function findFullDisk(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const facts = await statfs(folder).catch(() => undefined);
    if (facts !== undefined && facts.blocks > 0 && facts.bavail * facts.bsize < FULL_BYTES) return folder;
  }
  return undefined;
}
