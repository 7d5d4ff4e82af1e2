import type { Database } from "./database.ts";
import type { Migration, MigrationTarget } from "./migrate.ts";
import { loadSqlite } from "./sqlite.ts";

/** Reads the definition of every table and index by name. Quotes and spaces are normalised, because renaming changes them. */
export function readSchema({ prepare }: Pick<MigrationTarget, "prepare">): Map<string, string> {
  const rows = prepare<{ name: string; sql: string }>(
    "select name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%'",
  ).all();
  return new Map(rows.map(({ name, sql }) => [name, sql.replaceAll('"', "").replace(/\s+/g, " ")]));
}

/** Compares a database with the schema that `migrations` produce, and returns each difference; empty means equal. */
export async function checkSchema(
  database: Pick<Database, "prepare">,
  migrations: readonly Migration[],
): Promise<string[]> {
  const memory = new (await loadSqlite())(":memory:");
  try {
    const target: MigrationTarget = {
      exec: (sql) => void memory.exec(sql),
      prepare: (sql) => memory.prepare(sql),
    };
    for (const step of migrations) {
      if ("sql" in step) target.exec(step.sql);
      else step.up(target);
    }
    const found = readSchema({ prepare: (sql) => database.prepare(sql) });
    return [...readSchema(target)].flatMap(([name, sql]) => {
      if (found.get(name) === sql) return [];
      return [found.has(name) ? `"${name}" differs from the expected definition` : `"${name}" is missing`];
    });
  } finally {
    memory.close();
  }
}
