import type { BoardDatabase } from "../../src/board/database/board-database.ts";
import { sqliteMigrations } from "../../src/board/database/board-schema.ts";
import { createExecute, type Execute, runSteps } from "../../src/board/database/run-sqlite-steps.ts";
import type { Steps } from "../../src/board/database/steps.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";

/** A wrapper around the execution of statements. */
export type ExecuteWrapper = (execute: Execute) => Execute;

/** An in-memory database with the schema of a board; histories empty it instead of opening a new one. */
export interface MemoryDatabase extends Disposable {
  /** Runs steps synchronously as one transaction. */
  transact<Result>(steps: () => Steps<Result>, through?: ExecuteWrapper): Result;
  /** Runs steps that only read; they run synchronously, so they need no transaction. */
  read<Result>(steps: () => Steps<Result>, through?: ExecuteWrapper): Result;
  all<Row>(sql: string): readonly Row[];
  /** Resets to a board without tasks, whose clock is `now`. */
  reset(now: () => number): void;
}

export async function openMemoryDatabase(): Promise<MemoryDatabase> {
  const Sqlite = await loadSqlite();
  const connection = new Sqlite(":memory:");
  let clock = (): number => 0;
  connection.pragma("foreign_keys = ON");
  for (const step of sqliteMigrations()) {
    if ("sql" in step) connection.exec(step.sql); // the other migrations only convert existing rows
  }
  const prepared = new Map<string, ReturnType<typeof connection.prepare>>();
  const prepare = (sql: string) => {
    const known = prepared.get(sql) ?? connection.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
  const execute = createExecute(prepare, () => clock());
  const [begin, commit, rollback] = [prepare("begin"), prepare("commit"), prepare("rollback")];
  const tables = connection
    .prepare<[], { name: string }>(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    )
    .all();
  return {
    read: (steps, through) => runSteps(steps(), through?.(execute) ?? execute),
    transact(steps, through) {
      begin.run();
      try {
        const result = runSteps(steps(), through?.(execute) ?? execute);
        commit.run();
        return result;
      } catch (error) {
        rollback.run();
        throw error;
      }
    },
    all: <Row>(sql: string) => prepare(sql).all() as Row[],
    reset(now) {
      clock = now;
      // In reverse order, because of foreign keys. A pragma would be simpler, but it invalidates prepared statements.
      for (const { name } of tables.toReversed()) prepare(`delete from ${name}`).run();
      connection.exec(`
        delete from sqlite_sequence;
        insert into counter values ('event', 0), ('running', 0);
        insert into board (id, slug, name, created_at) values (1, 'simulated', 'Simulated', 0)`);
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

/** A database whose transactions wait until the scheduler grants them. */
export function gatedDatabase(
  memory: MemoryDatabase,
  turn: <Result>(kind: "read" | "write", work: () => Result) => Promise<Result>,
  through?: ExecuteWrapper,
): BoardDatabase {
  return {
    name: "simulated",
    read: (steps) => turn("read", () => memory.read(steps, through)),
    write: (steps) => turn("write", () => memory.transact(steps, through)),
    checkStorage: async () => [],
    async [Symbol.asyncDispose]() {},
  };
}
