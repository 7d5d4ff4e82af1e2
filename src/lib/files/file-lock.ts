import { resolve } from "node:path";
import { AppError } from "../errors.ts";
import { connectSqlite } from "../sqlite/connect-sqlite.ts";
import { mapDatabaseError } from "../sqlite/database-error.ts";
import { retryWhileBusy } from "../sqlite/retry-while-busy.ts";

export interface FileLock {
  readonly path: string;
  /** How long to wait for the holder before giving up with `lock-busy`. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 30_000;

/**
 * Runs `action` under an exclusive lock on a path, within this process and between processes. The kernel releases the lock when
 * the owner process exits, even by a crash. The empty lock file must stay: removing it would let two processes in.
 */
export async function withFileLock<Result>(
  lock: string | FileLock,
  action: () => Result | Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  signal.throwIfAborted();
  const { path: lockPath, deadlineMs = DEADLINE_MS } = typeof lock === "string" ? { path: lock } : lock;
  const path = resolve(lockPath);
  const failure = (cause: unknown) =>
    new AppError("lock-busy", `${path} is locked by another process`, { cause });
  const connection = await connectSqlite(path, { readonly: false, busyTimeoutMs: 0 });
  try {
    // The lock is an open transaction on an empty database: SQLite uses kernel locks, and unlike a plain kernel lock its lock
    // also separates two callers within one process.
    const take = () => connection.exec("PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE"); // avoids a journal file
    await retryWhileBusy(take, { deadlineMs, failure }, signal).catch((error: unknown) => {
      throw mapDatabaseError(error, path);
    });
    return await action();
  } finally {
    connection.close(); // rolls back and thereby unlocks
  }
}
