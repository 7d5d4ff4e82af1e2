import { AppError } from "./errors.ts";
import type { SqliteConnection } from "./sqlite.ts";
import type { Statement } from "./statement.ts";

/** One step of a schema. Its place in the list is its number, so a list only ever grows at its end. */
export type Migration = { readonly name: string } & (
  | { readonly sql: string }
  | { readonly up: (target: MigrationTarget) => void }
);

export interface MigrationTarget {
  /** Runs any number of statements. */
  exec(sql: string): void;
  prepare<Row>(sql: string): Statement<Row>;
}

/** The part of a database that migrating needs. */
interface Migrated extends Pick<MigrationTarget, "prepare"> {
  readonly path: string;
  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result>;
}

const APPLICATION_ID = 0x48524d53; // "HRMS", in the header of each of our files

/** The number of migrations that the file has had; throws when it is not ours, or of a version after `known`. */
export function requireVersion(connection: SqliteConnection, path: string, known: number): number {
  const { owner, version, objects } = connection.transaction(readHeader)(connection);
  if (owner !== APPLICATION_ID && (owner !== 0 || version !== 0 || objects !== 0)) {
    throw new AppError("database-foreign", `${path} is a database of another program`);
  }
  if (version > known) {
    throw new AppError(
      "database-newer",
      `${path} has schema version ${version}; this program knows only ${known}`,
    );
  }
  return version;
}

/** Needs a transaction around it: between two reads another process may migrate the file. */
function readHeader(connection: SqliteConnection): { owner: number; version: number; objects: number } {
  return {
    owner: Number(connection.pragma("application_id", { simple: true })),
    version: Number(connection.pragma("user_version", { simple: true })),
    // Counting parses the whole schema too, so a damaged one is found here.
    objects: Number(connection.prepare("select count(*) from sqlite_schema").pluck().get()),
  };
}

/** Brings the file to the last of `migrations`, each in a transaction of its own, whoever else is doing the same. */
export async function migrate(
  connection: SqliteConnection,
  database: Migrated,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<void> {
  // Enforcement would make dropping a table that is being rebuilt delete its children; they are checked instead.
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

function apply(connection: SqliteConnection, database: Migrated, migration: Migration): void {
  const exec = (sql: string) => void connection.exec(sql);
  if ("sql" in migration) exec(migration.sql);
  else migration.up({ exec, prepare: (sql) => database.prepare(sql) });
  if (!connection.inTransaction) throw new Error(`migration "${migration.name}" ended its own transaction`);
  const [orphan] = connection.pragma("foreign_key_check") as { table: string; parent: string }[];
  if (orphan === undefined) return;
  throw new AppError(
    "database-damaged",
    `${database.path}: at migration "${migration.name}" a row of "${orphan.table}" lacks its parent in "${orphan.parent}"`,
  );
}
