import type { Database } from "./database.ts";
import { AppError } from "./errors.ts";

/** Every damage found by reading the whole file, as sentences; none means sound. Blocks while it reads. */
export function checkIntegrity(database: Database): string[] {
  const pages = findings(() =>
    database
      .prepare<{ integrity_check: string }>("pragma integrity_check")
      .all()
      .map((row) => row.integrity_check)
      .filter((finding) => finding !== "ok"),
  );
  const parents = findings(() =>
    database
      .prepare<{ table: string; rowid: number | null; parent: string }>("pragma foreign_key_check")
      .all()
      .map(({ table, rowid, parent }) => `row ${rowid ?? "?"} of "${table}" lacks its parent in "${parent}"`),
  );
  return [...new Set([...pages, ...parents])]; // both say the same when the file cannot be read at all
}

/** A page too damaged to go on is a finding as well, not a failure of the check. */
function findings(check: () => string[]): string[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof AppError && error.code === "database-damaged") return [error.message];
    throw error;
  }
}
