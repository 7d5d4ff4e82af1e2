import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../lib/errors.ts";
import { withFileLock } from "../lib/file-lock.ts";
import { ensurePrivateFolder, syncFolder } from "../lib/files.ts";
import { boardFolder, boardPath, boardSchemaName } from "./board-slug.ts";
import { type BoardStore, openBoardStore } from "./board-store.ts";
import { type BoardsPlace, boardsFolder } from "./boards-place.ts";
import { withStagedSchema } from "./database/postgres-schemas.ts";

/** A board in the making, which nobody can find until all of it is there. */
export interface StagedBoard {
  /** What becomes the folder of the board; on a server only for as long as the board is made. */
  readonly folder: string;
  /** For what else is needed meanwhile. */
  readonly scratch: string;
  /** Makes a board of what `fill` puts into it and then gives it its slug, all at once; false when the slug is taken. */
  publish(slug: string, fill: (store: BoardStore) => Promise<void>): Promise<boolean>;
}

/** Runs `action` with a place for a new board. Whatever it or a killed one before it leaves there is removed. */
export async function withStagedBoard<Result>(
  place: BoardsPlace,
  action: (staged: StagedBoard) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const base = join(place.root, "kanban", "importing");
  await ensurePrivateFolder(base);
  await removeLeftovers(base, signal);
  const name = randomBytes(8).toString("hex");
  const scratch = join(base, name);
  const folder = join(scratch, "board");
  const stage = async (): Promise<Result> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const publish = place.databaseUrl === "" ? publishFolder : publishSchema;
    return await action({
      folder,
      scratch,
      publish: (slug, fill) => publish(place, { folder, slug, fill }, signal),
    });
  };
  try {
    return await withFileLock(lockOf(scratch), stage, signal); // before its folder is there
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await rm(lockOf(scratch), { force: true }); // a name is never used twice
  }
}

const LOCK = ".lock";
const lockOf = (scratch: string): string => `${scratch}${LOCK}`;

async function removeLeftovers(base: string, signal: AbortSignal): Promise<void> {
  const names = (await readdir(base)).filter((name) => !name.endsWith(LOCK));
  for (const scratch of names.map((name) => join(base, name)))
    try {
      const remove = () => rm(scratch, { recursive: true, force: true });
      await withFileLock({ path: lockOf(scratch), deadlineMs: 0 }, remove, signal);
      await rm(lockOf(scratch), { force: true });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "lock-busy") throw error; // somebody is at it
    }
}

interface Publication {
  readonly folder: string;
  readonly slug: string;
  fill(store: BoardStore): Promise<void>;
}

async function publishFolder(
  place: BoardsPlace,
  { folder, slug, fill }: Publication,
  signal: AbortSignal,
): Promise<boolean> {
  const isTaken = await stat(boardPath(place.root, slug)).then(
    () => true,
    () => false,
  );
  if (isTaken) return false;
  const path = join(folder, "board.sqlite");
  for (const suffix of ["", "-wal", "-shm"]) await rm(`${path}${suffix}`, { force: true }); // of another slug
  {
    await using store = await openBoardStore({ ...place, slug, create: true, staged: path }, {}, signal);
    await fill(store);
  }
  await ensurePrivateFolder(boardsFolder(place.root));
  try {
    await rename(folder, boardFolder(place.root, slug)); // over nothing but an empty folder
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
  await syncFolder(boardsFolder(place.root));
  return true;
}

async function publishSchema(
  place: BoardsPlace,
  { slug, fill }: Publication,
  signal: AbortSignal,
): Promise<boolean> {
  const make = async (staged: string): Promise<void> => {
    await using store = await openBoardStore({ ...place, slug, create: true, staged }, {}, signal);
    await fill(store);
  };
  return withStagedSchema(place.databaseUrl, boardSchemaName(slug), make, signal);
}
