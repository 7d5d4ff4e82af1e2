import { access, chmod, constants, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { AppError, errnoOf } from "../errors.ts";

/** An opened copy; `remove` deletes its file after the copy was closed. */
export interface ReadableCopy<Opened> {
  readonly opened: Opened;
  remove(): Promise<void>;
}

/** Whether a database failed to open only because it or its folder is read-only for us. */
export async function isReadOnlyFailure(path: string, error: unknown): Promise<boolean> {
  const cause = (error instanceof AppError && errnoOf(error.cause)) || "";
  if (!/^(EROFS|EACCES|EPERM|SQLITE_READONLY.*|SQLITE_CANTOPEN.*)$/.test(cause)) return false;
  if (!(await isAllowed(path, constants.R_OK))) return false;
  return !(await isAllowed(path, constants.W_OK)) || !(await isAllowed(dirname(path), constants.W_OK));
}

function isAllowed(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Opens a temporary copy of a database in a read-only folder: SQLite creates files next to a database even to read it. */
export async function openReadableCopy<Opened>(
  path: string,
  open: (copy: string) => Promise<Opened>,
): Promise<ReadableCopy<Opened>> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-copy-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const copy = join(folder, basename(path));
  try {
    for (const suffix of ["", "-wal"])
      try {
        await copyFile(`${path}${suffix}`, `${copy}${suffix}`);
        await chmod(`${copy}${suffix}`, 0o600); // a copy has the mode of its original, which may be read-only
      } catch (error) {
        if (errnoOf(error) !== "ENOENT") throw error;
      }
    return { opened: await open(copy), remove };
  } catch (error) {
    await remove();
    if (!(error instanceof AppError)) throw error;
    const { code, message, hint, cause } = error;
    throw new AppError(code, message.replaceAll(copy, path), { hint, cause });
  }
}
