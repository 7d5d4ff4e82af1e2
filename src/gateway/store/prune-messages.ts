import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../lib/files/unless-missing.ts";
import type { Database } from "../../lib/sqlite/database.ts";

/** How long a message is kept after it was answered. A second delivery is recognised only within this time. */
export const KEPT_MS = 30 * 24 * 3_600_000;
const ROWS_AT_ONCE = 1_000;

/** Deletes messages that ended long ago, with their answers and turns, in short transactions. Keeps chats. */
export async function pruneMessages(database: Database, signal: AbortSignal): Promise<void> {
  const statements = [
    `delete from outbox where key in (select key from outbox where ended_at < hermes_now() - ? limit ${ROWS_AT_ONCE})`,
    `delete from inbox where key in (
       select key from inbox where state in ('done', 'refused', 'ignored', 'failed') and received_at < hermes_now() - ?
          and key not in (select inbox_key from outbox where inbox_key is not null) limit ${ROWS_AT_ONCE})`,
    `delete from turn where id in (
       select id from turn where ended_at < hermes_now() - ?
          and id not in (select turn_id from inbox where turn_id is not null)
          and id not in (select resumes from turn where resumes is not null) limit ${ROWS_AT_ONCE})`,
  ].map((sql) => database.prepare(sql));
  for (const statement of statements) {
    let deleted = ROWS_AT_ONCE;
    while (deleted === ROWS_AT_ONCE)
      deleted = await database.write(() => statement.run(KEPT_MS).changes, signal);
  }
}

/** Removes the folders of files that arrived before a time. */
export async function removeOldFolders(cache: string, before: number): Promise<void> {
  for (const name of (await unlessMissing(readdir(cache))) ?? []) {
    const path = join(cache, name);
    const found = await unlessMissing(stat(path));
    if (found !== undefined && found.mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}
