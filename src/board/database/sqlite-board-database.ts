import { checkIntegrity } from "../../lib/check-integrity.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Database, openDatabase } from "../../lib/database.ts";
import type { BoardDatabase } from "./board-database.ts";
import { boardMigrations } from "./board-schema.ts";
import { toSqlite } from "./dialect.ts";
import type { Answer, Query, Steps } from "./steps.ts";

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
  const migrations = boardMigrations.map(({ name, sql }) => ({ name, sql: toSqlite(sql) }));
  const database = await openDatabase(path, { migrations, synchronous: "FULL", ...options }, signal);
  const translated = new Map<string, string>();
  const translate = (sql: string): string => {
    const known = translated.get(sql);
    if (known !== undefined) return known;
    const text = toSqlite(sql);
    translated.set(sql, text);
    return text;
  };
  const execute = ({ sql, values, wants }: Query): Answer => {
    const statement = database.prepare<unknown>(translate(sql));
    if (wants === "rows") return { rows: statement.all(values), changes: 0 };
    return { rows: [], changes: statement.run(values).changes };
  };

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

/** Never yields to the event loop: a transaction is over before anyone else of this process can touch the connection. */
function drive<Result>(steps: Steps<Result>, execute: (query: Query) => Answer): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next(execute(step.value));
  return step.value;
}

function readTogether<Result>(database: Database, action: () => Result): Result {
  database.prepare("begin").run();
  try {
    return action();
  } finally {
    database.prepare("commit").run();
  }
}
