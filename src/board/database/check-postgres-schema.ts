import type { PoolClient } from "pg";
import type { BoardMigration } from "./board-schema.ts";
import { toPostgres } from "./dialect.ts";

/** What each table consists of, and each index that is no part of one. */
const PARTS = `
  with place as (select case when $1 = '' then pg_my_temp_schema() else to_regnamespace($1)::oid end as id)
  select relname as name, format('%s %s%s default %s %s', attname, format_type(atttypid, atttypmod),
           case when attnotnull then ' not null' else '' end, pg_get_expr(adbin, adrelid), attidentity) as part
    from place join pg_class on relnamespace = place.id and relkind = 'r'
    join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
  union all
  select relname, pg_get_constraintdef(pg_constraint.oid)
    from place join pg_class on relnamespace = place.id and relkind = 'r'
    join pg_constraint on conrelid = pg_class.oid and contype <> 'n'
  union all
  select relname, pg_get_indexdef(indexrelid)
    from place join pg_class on relnamespace = place.id and relkind = 'i'
    join pg_index on indexrelid = pg_class.oid
   where not exists (select 1 from pg_constraint where conindid = indexrelid)`;

/**
 * What a board lacks, or has in another shape, that `migrations` would have made; none means that it is as it must be. Needs a
 * transaction that is rolled back: the steps are run on temporary tables to compare with, which takes no right and no lock.
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
    return [found.has(name) ? `"${name}" has another shape than it must have` : `"${name}" is missing`];
  });
}

/** Each table and index by its name. The order of columns does not count: steps that add some have had them in any. */
async function readParts(client: PoolClient, schema: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; part: string }>(PARTS, [schema]);
  const parts = new Map<string, string[]>();
  for (const { name, part } of rows) {
    const plain = part.replace(/\bON (?:ONLY )?(?:"[^"]+"|\w+)\.(?=\w)/, "ON ");
    parts.set(name, [...(parts.get(name) ?? []), plain]);
  }
  return new Map([...parts].map(([name, all]) => [name, all.toSorted().join("\n")]));
}
