import { checkIntegrity } from "../../lib/check-integrity.ts";
import { checkSchema } from "../../lib/check-schema.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import { AppError } from "../../lib/errors.ts";
import { isOnlyReadable, openReadableCopy } from "../../lib/readable-copy.ts";
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
    if (!(await isOnlyReadable(options.path, error))) throw error;
    return openCopy(options, signal);
  }
}

async function openCopy(options: SqliteBoardOptions, signal: AbortSignal): Promise<BoardDatabase> {
  const { opened: copy, remove } = await openReadableCopy(options.path, (path) =>
    openFile({ ...options, path }, signal),
  );
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
