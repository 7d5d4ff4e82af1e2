import { AppError } from "../errors.ts";
import type { SqliteConnection } from "./sqlite.ts";
import type { Statement } from "./statement.ts";

/** One step of a schema. Its index in the list is its number, so new steps are only appended. */
export type Migration = { readonly name: string } & (
  | { readonly sql: string }
  | { readonly up: (target: MigrationTarget) => void }
);

export interface MigrationTarget {
  exec(sql: string): void;
  prepare<Row>(sql: string): Statement<Row>;
}

interface MigratingDatabase extends Pick<MigrationTarget, "prepare"> {
  readonly path: string;
  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result>;
}

const APPLICATION_ID = 0x48524d53; // "HRMS", in the header of each of our files

/** The number of applied migrations; throws when the file is not ours, or newer than `known`. */
export function requireVersion(connection: SqliteConnection, path: string, known: number): number {
  const { owner, version, objects } = connection.transaction(readHeader)(connection);
  if (owner !== APPLICATION_ID && (owner !== 0 || version !== 0 || objects !== 0)) {
    throw new AppError("database-foreign", `${path} is a database of another program`);
  }
  refuseNewer(path, version, known);
  return version;
}

export function refuseNewer(path: string, version: number, known: number): void {
  if (version <= known) return;
  throw new AppError(
    "database-newer",
    `${path} has schema version ${version}; this program knows only ${known}`,
  );
}

/** Must run in a transaction: another process may migrate the file between two reads. */
function readHeader(connection: SqliteConnection): { owner: number; version: number; objects: number } {
  return {
    owner: Number(connection.pragma("application_id", { simple: true })),
    version: Number(connection.pragma("user_version", { simple: true })),
    // Counting parses the whole schema, which detects a damaged one.
    objects: Number(connection.prepare("select count(*) from sqlite_schema").pluck().get()),
  };
}

/** Applies the missing migrations, each in its own transaction. Safe when several processes migrate at the same time. */
export async function migrate(
  connection: SqliteConnection,
  database: MigratingDatabase,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<void> {
  // With enforcement, dropping a table during a rebuild would delete its child rows. `apply` checks foreign keys instead.
  connection.pragma("foreign_keys = OFF");
  for (const [index, migration] of migrations.entries()) {
    await database.write(() => {
      const version = requireVersion(connection, database.path, migrations.length);
      if (version > index) return; // another process was first
      apply(connection, database, migration);
      connection.pragma(`application_id = ${APPLICATION_ID}`);
      connection.pragma(`user_version = ${index + 1}`);
    }, signal);
  }
  connection.pragma("foreign_keys = ON");
}

function apply(connection: SqliteConnection, database: MigratingDatabase, migration: Migration): void {
  const exec = (sql: string) => void connection.exec(sql);
  if ("sql" in migration) exec(migration.sql);
  else migration.up({ exec, prepare: (sql) => database.prepare(sql) });
  if (!connection.inTransaction) throw new Error(`migration "${migration.name}" ended its own transaction`);
  const [orphan] = connection.pragma("foreign_key_check") as { table: string; parent: string }[];
  if (orphan === undefined) return;
  throw new AppError(
    "database-damaged",
    `${database.path}: at migration "${migration.name}" a row of "${orphan.table}" has no parent in "${orphan.parent}"`,
  );
}
