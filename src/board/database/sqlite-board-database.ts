import { AppError } from "../../lib/errors.ts";
import { checkIntegrity } from "../../lib/sqlite/check-integrity.ts";
import { checkSchema } from "../../lib/sqlite/check-schema.ts";
import { type Database, openDatabase } from "../../lib/sqlite/database.ts";
import { runReadTransaction } from "../../lib/sqlite/read-transaction.ts";
import { isReadOnlyFailure, openReadableCopy } from "../../lib/sqlite/readable-copy.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { BoardDatabase } from "./board-database.ts";
import { sqliteMigrations } from "./board-schema.ts";
import { createExecute, runSteps, runStepsAsync } from "./run-sqlite-steps.ts";

export interface SqliteBoardOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly busyDeadlineMs?: number;
}

/** Opens a board's file; creates and migrates it as needed. A read-only file is opened as a temporary copy without writes. */
export async function openSqliteBoard(
  options: SqliteBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  try {
    return await openFile(options, signal);
  } catch (error) {
    if (!(await isReadOnlyFailure(options.path, error))) throw error;
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
      throw new AppError("database-unavailable", `${options.path} is read-only.`, {
        hint: "Get write permission for its folder.",
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
    createExecute(
      (text) => connection.prepare<unknown>(text),
      () => options.clock.now(),
    );
  const database = await connect();
  const execute = executeIn(database);

  return {
    name: database.path,
    async read(steps, signal, between) {
      signal.throwIfAborted();
      database.requireSameFile();
      if (between === undefined) return runReadTransaction(database, () => runSteps(steps(), execute));
      using separate = await connect(); // other operations use the shared connection during this read
      separate.prepare("begin").run(); // ends with the connection
      return await runStepsAsync(steps(), executeIn(separate), between);
    },
    async write(steps, signal) {
      return database.write(() => {
        database.requireSameFile(); // again in each attempt, because the wait for the lock may be long
        return runSteps(steps(), execute);
      }, signal);
    },
    checkStorage: async () => [...checkIntegrity(database), ...(await checkSchema(database, migrations))],
    async [Symbol.asyncDispose]() {
      database[Symbol.dispose]();
    },
  };
}
