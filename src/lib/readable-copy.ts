import { access, constants, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { AppError, errnoOf } from "./errors.ts";

/** What a copy was opened as, and how its file is removed once that is closed. */
export interface ReadableCopy<Opened> {
  readonly opened: Opened;
  remove(): Promise<void>;
}

/** Whether a database could not be opened only because it, or its folder, may not be written to. */
export async function isOnlyReadable(path: string, error: unknown): Promise<boolean> {
  const cause = error instanceof AppError ? errnoOf(error.cause) : undefined;
  if (cause === undefined || !["EROFS", "EACCES", "EPERM"].includes(cause)) return false;
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** SQLite writes beside a file even to read it, so what lies in a folder without that right is read from a copy. */
export async function openReadableCopy<Opened>(
  path: string,
  open: (copy: string) => Promise<Opened>,
): Promise<ReadableCopy<Opened>> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-copy-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, basename(path));
    for (const suffix of ["", "-wal"])
      await copyFile(`${path}${suffix}`, `${copy}${suffix}`).catch((error: unknown) => {
        if (errnoOf(error) !== "ENOENT") throw error;
      });
    return { opened: await open(copy), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
