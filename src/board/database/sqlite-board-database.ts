import { checkIntegrity } from "../../lib/check-integrity.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import type { BoardDatabase } from "./board-database.ts";
import { boardMigrations } from "./board-schema.ts";
import { toSqliteSchema } from "./dialect.ts";
import { drive, executeOn } from "./drive-sqlite.ts";

export interface SqliteBoardOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly busyDeadlineMs?: number;
}

/** Opens a board's file, made and migrated as needed. */
export async function openSqliteBoard(
  { path, ...options }: SqliteBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  const migrations = boardMigrations.map(({ name, sql }) => ({ name, sql: toSqliteSchema(sql) }));
  const database = await openDatabase(path, { migrations, synchronous: "FULL", ...options }, signal);
  const execute = executeOn(
    (text) => database.prepare<unknown>(text),
    () => options.clock.now(),
  );

  return {
    name: database.path,
    async read(steps, signal) {
      signal.throwIfAborted();
      return readTogether(database, () => drive(steps(), execute));
    },
    write: (steps, signal) => database.write(() => drive(steps(), execute), signal),
    checkStorage: async () => checkIntegrity(database),
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
