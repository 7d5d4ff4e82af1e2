import { access, constants } from "node:fs/promises";
import { databaseError } from "./database-error.ts";
import { ensurePrivateFile } from "./ensure-private-file.ts";
import { AppError, errnoOf, messageOf } from "./errors.ts";
import { loadSqlite, REINSTALL, type SqliteConnection } from "./sqlite.ts";

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
  try {
    const Connection = await loadSqlite();
    return new Connection(path, {
      readonly: options.readonly,
      timeout: options.busyTimeoutMs,
      fileMustExist: true, // SQLite itself would make it with another mode
    });
  } catch (error) {
    if (errnoOf(error)?.startsWith("SQLITE_")) throw databaseError(error, path);
    const [reason] = messageOf(error).split("\n"); // Node adds who required it, and from where
    throw new AppError("database-unavailable", `SQLite could not be loaded: ${reason}`, {
      cause: error,
      hint: `Hermes was installed by another Node. Install it again with this one (${process.version}): ${REINSTALL}`,
    });
  }
}
