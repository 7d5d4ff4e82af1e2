import type { Database } from "../lib/database.ts";

/** Runs reads that must agree with each other on one snapshot; `action` is synchronous and writes nothing. */
export function readTogether<Result>(database: Database, action: () => Result): Result {
  database.prepare("begin").run();
  try {
    return action();
  } finally {
    database.prepare("commit").run();
  }
}
