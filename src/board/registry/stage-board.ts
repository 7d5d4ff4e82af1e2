import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/files/file-lock.ts";
import { ensurePrivateFolder, syncFolder } from "../../lib/files/files.ts";
import { exists, unlessMissing } from "../../lib/files/unless-missing.ts";
import { boardFolder, boardPath, boardSchemaName } from "../board-slug.ts";
import { type BoardStore, openBoardStore } from "../board-store.ts";
import { withStagedSchema } from "../database/postgres-schemas.ts";
import { type BoardsLocation, boardsFolder } from "./boards-location.ts";

/** A board under construction, invisible to other processes until it is published. */
export interface StagedBoard {
  /** Becomes the folder of the board; on a server it is temporary. */
  readonly folder: string;
  /** A temporary folder for other files. */
  readonly scratch: string;
  /** Creates the board, calls `fill` and then gives the board its slug atomically; returns false when the slug is taken. */
  publish(slug: string, fill: (store: BoardStore) => Promise<void>): Promise<boolean>;
}

/** Runs `action` with a temporary folder for a new board. Removes that folder and the leftovers of killed processes. */
export async function withStagedBoard<Result>(
  location: BoardsLocation,
  action: (staged: StagedBoard) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const parent = join(location.root, "kanban", "importing");
  await ensurePrivateFolder(parent);
  await removeLeftovers(parent, signal);
  for (;;) {
    const done = await stageOnce(location, join(parent, randomBytes(8).toString("hex")), action, signal);
    if (done !== undefined) return done.result;
  }
}

/** Undefined when another process removed the new lock file as a leftover before it was locked. */
async function stageOnce<Result>(
  location: BoardsLocation,
  scratch: string,
  action: (staged: StagedBoard) => Promise<Result>,
  signal: AbortSignal,
): Promise<{ readonly result: Result } | undefined> {
  const folder = join(scratch, "board");
  const path = lockOf(scratch);
  // Stays open until the end: closing a file drops the locks that this process has on it.
  await using file = await open(path, "wx", 0o600);
  const { ino } = await file.stat();
  const stage = async (): Promise<{ readonly result: Result } | undefined> => {
    if ((await unlessMissing(stat(path)))?.ino !== ino) return undefined;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const publish = location.databaseUrl === "" ? publishFolder : publishSchema;
    const staged: StagedBoard = {
      folder,
      scratch,
      publish: (slug, fill) => publish(location, { folder, slug, fill }, signal),
    };
    return { result: await action(staged) };
  };
  try {
    return await withFileLock(path, stage, signal); // locked before the folder exists
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await rm(path, { force: true }); // safe: a random name is never reused
  }
}

const LOCK = ".lock";
const lockOf = (scratch: string): string => `${scratch}${LOCK}`;

async function removeLeftovers(parent: string, signal: AbortSignal): Promise<void> {
  // A killed process leaves a folder with its lock, or the lock alone.
  const names = new Set((await readdir(parent)).map((name) => basename(name, LOCK)));
  for (const scratch of [...names].map((name) => join(parent, name)))
    try {
      const remove = async (): Promise<void> => {
        await rm(scratch, { recursive: true, force: true });
        await rm(lockOf(scratch), { force: true }); // while locked, so that a process that is about to lock it notices
      };
      await withFileLock({ path: lockOf(scratch), deadlineMs: 0 }, remove, signal);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "lock-busy") throw error; // another process uses it
    }
}

interface Publication {
  readonly folder: string;
  readonly slug: string;
  fill(store: BoardStore): Promise<void>;
}

async function publishFolder(
  location: BoardsLocation,
  { folder, slug, fill }: Publication,
  signal: AbortSignal,
): Promise<boolean> {
  if (await exists(boardPath(location.root, slug))) return false;
  const path = join(folder, "board.sqlite");
  // Remove the files that an attempt with another slug left behind.
  for (const suffix of ["", "-wal", "-shm"]) await rm(`${path}${suffix}`, { force: true });
  {
    await using store = await openBoardStore(
      { ...location, slug, create: true, stagingName: path },
      {},
      signal,
    );
    await fill(store);
  }
  await ensurePrivateFolder(boardsFolder(location.root));
  try {
    await rename(folder, boardFolder(location.root, slug)); // replaces only an empty folder
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
  await syncFolder(boardsFolder(location.root));
  return true;
}

async function publishSchema(
  location: BoardsLocation,
  { slug, fill }: Publication,
  signal: AbortSignal,
): Promise<boolean> {
  const build = async (stagingName: string): Promise<void> => {
    await using store = await openBoardStore({ ...location, slug, create: true, stagingName }, {}, signal);
    await fill(store);
  };
  return withStagedSchema(location.databaseUrl, boardSchemaName(slug), build, signal);
}
