import { access, constants } from "node:fs/promises";
import type Sqlite from "better-sqlite3";
import { databaseError } from "./database-error.ts";
import { ensurePrivateFile } from "./ensure-private-file.ts";
import { AppError, errnoOf, messageOf } from "./errors.ts";

export type SqliteConnection = Sqlite.Database;

/** Connects to a file, made empty and private if it is missing; `path` is absolute. The native module loads only here. */
export async function connectSqlite(
  path: string,
  options: { readonly readonly: boolean; readonly busyTimeoutMs: number },
): Promise<SqliteConnection> {
  try {
    await ensurePrivateFile(path);
    // Asked here, because SQLite silently settles for reading a file that it may not write.
    await access(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new AppError("database-unavailable", `${path}: ${messageOf(error)}`, { cause: error });
  }
  const { default: Connection } = await import("better-sqlite3");
  try {
    return new Connection(path, {
      readonly: options.readonly,
      timeout: options.busyTimeoutMs,
      fileMustExist: true, // SQLite itself would make it with another mode
    });
  } catch (error) {
    if (errnoOf(error)?.startsWith("SQLITE_")) throw databaseError(error, path);
    throw new AppError("database-unavailable", `SQLite could not be loaded: ${messageOf(error)}`, {
      cause: error,
      hint: "Its native module is missing or was built for another Node; install Hermes again with this one.",
    });
  }
}
