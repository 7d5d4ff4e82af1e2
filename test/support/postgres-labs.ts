import pg from "pg";
import { afterAll } from "vitest";
import { boardSchemaName } from "../../src/board/board-slug.ts";
import { type BoardLab, openPostgresLab } from "./board-lab.ts";

/** Statements that change only rows, not tables. */
const HARMLESS = /^\s*(?:delete|insert|select|update|with)\b/i;

interface Kept {
  readonly lab: BoardLab;
  /** Resets it to the content of a new board. */
  readonly empty: () => Promise<void>;
}

/**
 * Labs for suites of many tests, removed after the last test. Creating a board on the server takes most of the time of a
 * short test, so an unused board is reset and used again.
 */
export function keepPostgresLabs(url: string): () => Promise<BoardLab> {
  const free: Kept[] = [];
  afterAll(async () => {
    for (const { lab } of free) await lab[Symbol.asyncDispose]();
  });
  return async () => {
    const kept = free.pop() ?? (await make(url));
    await kept.empty();
    let isUnusable = false;
    return {
      ...kept.lab,
      raw: (sql) => {
        isUnusable ||= !HARMLESS.test(sql);
        return kept.lab.raw(sql);
      },
      async [Symbol.asyncDispose]() {
        if (isUnusable) await kept.lab[Symbol.asyncDispose]();
        else free.push(kept);
      },
    };
  };
}

async function make(url: string): Promise<Kept> {
  const lab = await openPostgresLab(url);
  const start = lab.now();
  const schema = boardSchemaName(lab.location.slug);
  const tables = await lab.raw<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = '${schema}'`,
  );
  const sequences = await lab.raw<{ name: string; start: string }>(
    `select sequencename as name, start_value as start from pg_sequences where schemaname = '${schema}'`,
  );
  // Without foreign key checks, which would require an order.
  const statements = [
    "set session_replication_role = replica",
    ...tables.map(({ name }) => `delete from "${name}"`),
  ];
  for (const { name } of tables) {
    const [row] = await lab.raw<{ rows: string }>(`select json_agg(t)::text as rows from "${name}" t`);
    if (row?.rows)
      statements.push(
        `insert into "${name}" select * from json_populate_recordset(null::"${name}", ${pg.escapeLiteral(row.rows)})`,
      );
  }
  for (const { name, start } of sequences) statements.push(`select setval('"${name}"', ${start}, false)`);
  statements.push("set session_replication_role = origin");
  return {
    lab,
    async empty() {
      await lab.raw(statements.join(";\n"));
      await lab.advance(start - lab.now());
    },
  };
}
