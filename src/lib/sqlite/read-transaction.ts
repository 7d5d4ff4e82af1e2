import type { Database } from "./database.ts";

/** Runs several reads on one consistent snapshot; `action` is synchronous and must not write. */
export function runReadTransaction<Result>(database: Database, action: () => Result): Result {
  database.prepare("begin").run();
  try {
    return action();
  } finally {
    database.prepare("commit").run();
  }
}
