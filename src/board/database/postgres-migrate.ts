import type { PoolClient } from "pg";
import { AppError } from "../../lib/errors.ts";
import type { BoardMigration } from "./board-schema.ts";
import { toPostgres } from "./dialect.ts";

/** "HRMS": the advisory lock for creating, migrating and removing boards. */
export const MIGRATION_LOCK = 0x48524d53;

/** The time comes from the server clock, which all hosts share; tests replace the function. */
const NOW = `
  create or replace function hermes_now() returns bigint language sql stable
  as 'select cast(extract(epoch from statement_timestamp()) * 1000 as bigint)'`;

/** Runs the missing migrations in the transaction of `client`; throws for a newer or foreign schema. */
export async function migratePostgres(
  client: PoolClient,
  { schema, name, create }: { readonly schema: string; readonly name: string; readonly create: boolean },
  migrations: readonly BoardMigration[],
): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  const found = await client.query<{ relname: string }>(
    "select relname from pg_class where relnamespace = to_regnamespace($1)",
    [`"${schema}"`],
  );
  const isOurs = found.rows.some(({ relname }) => relname === "hermes_migration");
  if (!isOurs && found.rows.length > 0)
    throw new AppError("database-foreign", `${name} holds tables of another program`);
  if (!isOurs && !create) throw new AppError("board-not-found", `There is no board in ${name}.`);
  if (!isOurs) {
    await client.query(`create schema if not exists "${schema}"`);
    await client.query("create table hermes_migration (number integer primary key, name text not null)");
    await client.query(NOW);
  }
  const applied = await client.query<{ version: number }>(
    "select coalesce(max(number), 0) as version from hermes_migration",
  );
  const version = applied.rows[0]?.version ?? 0;
  if (version > migrations.length) {
    const known = migrations.length;
    throw new AppError(
      "database-newer",
      `${name} has schema version ${version}; this program knows only ${known}`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue;
    await client.query(toPostgres("sql" in migration ? migration.sql : migration.postgres).text);
    await client.query("insert into hermes_migration values ($1, $2)", [index + 1, migration.name]);
  }
}
