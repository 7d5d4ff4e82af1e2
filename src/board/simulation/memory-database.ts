import { loadSqlite } from "../../lib/sqlite.ts";
import type { BoardDatabase } from "../database/board-database.ts";
import { sqliteMigrations } from "../database/board-schema.ts";
import { drive, type Execute, executeOn } from "../database/drive-sqlite.ts";
import type { Steps } from "../database/steps.ts";

/** What stands between steps and the database. */
export type Through = (execute: Execute) => Execute;

/** The board's own schema in memory, driven by whoever says when; emptied between histories instead of opened anew. */
export interface MemoryDatabase extends Disposable {
  /** Runs steps as one transaction, at once. */
  transact<Result>(steps: () => Steps<Result>, through?: Through): Result;
  /** Runs steps that only read; nobody else comes in between, so they need no transaction. */
  look<Result>(steps: () => Steps<Result>, through?: Through): Result;
  all<Row>(sql: string): readonly Row[];
  /** A board without tasks, whose clock is `now`. */
  reset(now: () => number): void;
}

export async function openMemoryDatabase(): Promise<MemoryDatabase> {
  const Sqlite = await loadSqlite();
  const connection = new Sqlite(":memory:");
  let clock = (): number => 0;
  connection.pragma("foreign_keys = ON");
  for (const step of sqliteMigrations()) {
    if ("sql" in step) connection.exec(step.sql); // the others mend what was made before
  }
  const prepared = new Map<string, ReturnType<typeof connection.prepare>>();
  const prepare = (sql: string) => {
    const known = prepared.get(sql) ?? connection.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
  const execute = executeOn(prepare, () => clock());
  const [begin, commit, rollback] = [prepare("begin"), prepare("commit"), prepare("rollback")];
  const tables = connection
    .prepare<[], { name: string }>(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    )
    .all();
  return {
    look: (steps, through) => drive(steps(), through?.(execute) ?? execute),
    transact(steps, through) {
      begin.run();
      try {
        const result = drive(steps(), through?.(execute) ?? execute);
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
      // Those made last refer to earlier ones. A pragma would be simpler, but makes every statement be prepared anew.
      for (const { name } of tables.toReversed()) prepare(`delete from ${name}`).run();
      connection.exec(`
        delete from sqlite_sequence;
        insert into counter values ('event', 0), ('running', 0);
        insert into board (id, slug, name, created_at) values (1, 'simulated', 'Simulated', 0)`);
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

/** A database whose every transaction waits for its turn. */
export function gatedDatabase(
  memory: MemoryDatabase,
  turn: <Result>(kind: "read" | "write", work: () => Result) => Promise<Result>,
  through?: Through,
): BoardDatabase {
  return {
    name: "simulated",
    read: (steps) => turn("read", () => memory.look(steps, through)),
    write: (steps) => turn("write", () => memory.transact(steps, through)),
    checkStorage: async () => [],
    async [Symbol.asyncDispose]() {},
  };
}
