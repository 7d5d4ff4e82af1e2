import { access, constants, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { checkIntegrity } from "../../lib/check-integrity.ts";
import { checkSchema } from "../../lib/check-schema.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import { AppError, errnoOf } from "../../lib/errors.ts";
import type { BoardDatabase } from "./board-database.ts";
import { sqliteMigrations } from "./board-schema.ts";
import { drive, driveSlowly, executeOn } from "./drive-sqlite.ts";

export interface SqliteBoardOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly busyDeadlineMs?: number;
}

/** Opens a board's file, made and migrated as needed; one that may only be read can only be read. */
export async function openSqliteBoard(
  options: SqliteBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  try {
    return await openFile(options, signal);
  } catch (error) {
    if (!(await isReadOnly(options.path, error))) throw error;
    return openCopy(options, signal);
  }
}

async function isReadOnly(path: string, error: unknown): Promise<boolean> {
  const cause = error instanceof AppError ? errnoOf(error.cause) : undefined;
  if (cause === undefined || !["EROFS", "EACCES", "EPERM"].includes(cause)) return false;
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** SQLite writes beside a file even to read it, so what lies in a folder without that right is read from a copy. */
async function openCopy(options: SqliteBoardOptions, signal: AbortSignal): Promise<BoardDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "hermes-board-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, basename(options.path));
    for (const suffix of ["", "-wal"])
      await copyFile(`${options.path}${suffix}`, `${path}${suffix}`).catch((error: unknown) => {
        if (errnoOf(error) !== "ENOENT") throw error;
      });
    const copy = await openFile({ ...options, path }, signal);
    return {
      ...copy,
      name: options.path,
      async write() {
        throw new AppError("database-unavailable", `${options.path} can only be read.`, {
          hint: "Get the right to write to its folder.",
        });
      },
      async [Symbol.asyncDispose]() {
        await copy[Symbol.asyncDispose]();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function openFile(
  { path, ...options }: SqliteBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  const migrations = sqliteMigrations();
  const connect = () =>
    openDatabase(path, { migrations, synchronous: "FULL", isNeverEmpty: true, ...options }, signal);
  const executeIn = (connection: Database) =>
    executeOn(
      (text) => connection.prepare<unknown>(text),
      () => options.clock.now(),
    );
  const database = await connect();
  const execute = executeIn(database);

  return {
    name: database.path,
    async read(steps, signal, between) {
      signal.throwIfAborted();
      if (between === undefined) return readTogether(database, () => drive(steps(), execute));
      using apart = await connect(); // others use ours meanwhile
      apart.prepare("begin").run(); // ends with the connection
      return await driveSlowly(steps(), executeIn(apart), between);
    },
    write: (steps, signal) => database.write(() => drive(steps(), execute), signal),
    checkStorage: async () => [...checkIntegrity(database), ...(await checkSchema(database, migrations))],
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
    },
  };
}

function readTogether<Result>(database: Database, action: () => Result): Result {
  database.prepare("begin").run();
  try {
    return action();
  } finally {
    database.prepare("commit").run();
  }
}
