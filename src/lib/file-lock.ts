import { resolve } from "node:path";
import { connectSqlite } from "./connect-sqlite.ts";
import { databaseError } from "./database-error.ts";
import { AppError } from "./errors.ts";
import { retryWhileBusy } from "./retry-while-busy.ts";

export interface FileLock {
  readonly path: string;
  /** How long to wait for the holder before giving up with `lock-busy`. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 30_000;

/**
 * Runs `action` while nobody else, in this process or another, runs theirs under the same path.
 * The kernel holds the lock, so it ends with its owner, however that ends. The lock file stays, empty:
 * whoever removes it lets two in.
 */
export async function withFileLock<Result>(
  lock: string | FileLock,
  action: () => Result | Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const { path: given, deadlineMs = DEADLINE_MS } = typeof lock === "string" ? { path: lock } : lock;
  const path = resolve(given);
  const failure = (cause: unknown) =>
    new AppError("lock-busy", `${path} is locked by another process`, { cause });
  const connection = await connectSqlite(path, { readonly: false, busyTimeoutMs: 0 });
  try {
    // An unfinished transaction on an empty database: SQLite's lock is the kernel's, but, unlike the bare one,
    // it also keeps two callers within one process apart.
    const take = () => connection.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE"); // no second file
    await retryWhileBusy(take, { deadlineMs, failure }, signal).catch((error: unknown) => {
      throw databaseError(error, path);
    });
    return await action();
  } finally {
    connection.close(); // rolls back, and with that unlocks
  }
}
