import type { PoolClient } from "pg";
import type { BoardMigration } from "./board-schema.ts";
import { toPostgres } from "./dialect.ts";

/** The columns and constraints of each table, and the indexes that do not belong to a constraint. */
const PARTS = `
  with target as (select case when $1 = '' then pg_my_temp_schema() else to_regnamespace($1)::oid end as id)
  select relname as name, format('%s %s%s default %s %s', attname, format_type(atttypid, atttypmod),
           case when attnotnull then ' not null' else '' end, pg_get_expr(adbin, adrelid), attidentity) as part
    from target join pg_class on relnamespace = target.id and relkind = 'r'
    join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
  union all
  select relname, pg_get_constraintdef(pg_constraint.oid)
    from target join pg_class on relnamespace = target.id and relkind = 'r'
    join pg_constraint on conrelid = pg_class.oid and contype <> 'n'
  union all
  select relname, pg_get_indexdef(indexrelid)
    from target join pg_class on relnamespace = target.id and relkind = 'i'
    join pg_index on indexrelid = pg_class.oid
   where not exists (select 1 from pg_constraint where conindid = indexrelid)`;

/**
 * Compares the tables and indexes of a board with those that `migrations` create; returns one sentence per difference. Must
 * run in a transaction that is rolled back: the migrations run on temporary tables, which needs no privileges and no locks.
 */
export async function checkPostgresSchema(
  client: PoolClient,
  schema: string,
  migrations: readonly BoardMigration[],
): Promise<string[]> {
  const found = await readParts(client, `"${schema}"`);
  await client.query("set local search_path to pg_temp");
  for (const step of migrations)
    await client.query(toPostgres("sql" in step ? step.sql : step.postgres).text);
  const wanted = await readParts(client, "");
  return [...wanted].flatMap(([name, shape]) => {
    if (found.get(name) === shape) return [];
    return [found.has(name) ? `"${name}" differs from the expected definition` : `"${name}" is missing`];
  });
}

/** The definition of each table and index by name. Ignores the column order, which depends on the migration history. */
async function readParts(client: PoolClient, schema: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; part: string }>(PARTS, [schema]);
  const parts = new Map<string, string[]>();
  for (const { name, part } of rows) {
    const withoutSchema = part.replace(/\bON (?:ONLY )?(?:"[^"]+"|\w+)\.(?=\w)/, "ON ");
    parts.set(name, [...(parts.get(name) ?? []), withoutSchema]);
  }
  return new Map([...parts].map(([name, all]) => [name, all.toSorted().join("\n")]));
}
