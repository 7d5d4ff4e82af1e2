import { AppError } from "../errors.ts";
import type { Database } from "./database.ts";

/** Reads the whole file and returns each problem as a sentence; empty means intact. Blocks while reading. */
export function checkIntegrity(database: Database): string[] {
  const pages = collectFindings(() =>
    database
      .prepare<{ integrity_check: string }>("pragma integrity_check")
      .all()
      .map((row) => row.integrity_check)
      .filter((finding) => finding !== "ok"),
  );
  const orphans = collectFindings(() =>
    database
      .prepare<{ table: string; rowid: number | null; parent: string }>("pragma foreign_key_check")
      .all()
      .map(({ table, rowid, parent }) => `row ${rowid ?? "?"} of "${table}" has no parent in "${parent}"`),
  );
  return [...new Set([...pages, ...orphans])]; // both checks report the same error when the file is unreadable
}

/** A damaged page that stops the check is a finding too, not a failure of the check. */
function collectFindings(check: () => string[]): string[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof AppError && error.code === "database-damaged") return [error.message];
    throw error;
  }
}
