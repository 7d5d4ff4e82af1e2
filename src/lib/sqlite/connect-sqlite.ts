import { access, constants } from "node:fs/promises";
import { AppError, errnoOf, messageOf } from "../errors.ts";
import { ensurePrivateFile } from "../files/ensure-private-file.ts";
import { mapDatabaseError } from "./database-error.ts";
import { COMPILED, loadSqlite, REINSTALL, type SqliteConnection } from "./sqlite.ts";

/** Connects to a file, which is created empty and private if missing. `path` is absolute. Only this function loads the native module. */
export async function connectSqlite(
  path: string,
  options: { readonly readonly: boolean; readonly busyTimeoutMs: number },
): Promise<SqliteConnection> {
  try {
    await ensurePrivateFile(path);
    // Checked here, because SQLite silently opens a file read-only when it may not write.
    await access(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new AppError("database-unavailable", `${path}: ${messageOf(error)}`, { cause: error });
  }
  try {
    const Connection = await loadSqlite();
    return new Connection(path, {
      readonly: options.readonly,
      timeout: options.busyTimeoutMs,
      fileMustExist: true, // SQLite would create it with another mode
    });
  } catch (error) {
    if (errnoOf(error)?.startsWith("SQLITE_")) throw mapDatabaseError(error, path);
    const [reason] = messageOf(error).split("\n"); // Node appends the require stack
    throw new AppError("database-unavailable", `SQLite could not be loaded: ${reason}`, {
      cause: error,
      hint: `Hermes was installed with another version of Node${COMPILED}. Install it again with this one (${process.version}): ${REINSTALL}`,
    });
  }
}
