import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { describePostgres } from "./postgres-board-database.ts";
import { postgresError } from "./postgres-error.ts";
import { MIGRATION_LOCK } from "./postgres-migrate.ts";

const CONNECT_TIMEOUT_MS = 15_000;
const WAITS = { lock_timeout: 30_000, statement_timeout: 60_000 }; // no wait without an end

/** The schemas of a server whose names begin so, and that hold a board, in the order of their names. */
export async function listBoardSchemas(
  url: string,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return withServer(url, signal, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select n.nspname as name from pg_namespace n
        where starts_with(n.nspname, $1) and has_schema_privilege(n.oid, 'USAGE')
          and exists (select 1 from pg_class c where c.relnamespace = n.oid and c.relname = 'hermes_migration')
        order by n.nspname collate "C"`,
      [prefix],
    );
    return rows.map(({ name }) => name);
  });
}

/** The slug that the board in a schema has; undefined when it is gone by now. */
export async function findSlugIn(
  url: string,
  schema: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return withServer(url, signal, async (client) => {
    try {
      const { rows } = await client.query<{ slug: string }>(`select slug from "${schema}".board`);
      return rows[0]?.slug;
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  });
}

/** Gives a board's schema another name, or drops it with all that is in it; throws `board-not-found`. */
export async function removeBoardSchema(
  url: string,
  schema: string,
  aside: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await withServer(url, signal, async (client) => {
    await client.query("begin"); // ended by the end of the connection when something fails
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]); // nobody is just making it
    try {
      await client.query(
        aside === undefined
          ? `drop schema "${schema}" cascade`
          : `alter schema "${schema}" rename to "${aside}"`,
      );
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new AppError("board-not-found", `There is no board in the schema ${schema}.`, { cause: error });
    }
    await client.query("commit");
  });
}

/** Makes an empty schema, or says that it is taken: of several who ask at once, one gets it. */
export async function reserveSchema(url: string, schema: string, signal: AbortSignal): Promise<boolean> {
  return withServer(url, signal, async (client) => {
    try {
      await client.query(`create schema "${schema}"`);
      return true;
    } catch (error) {
      if (["42P06", "23505"].includes(errnoOf(error) ?? "")) return false;
      throw error;
    }
  });
}

const STAGED_SCHEMA = "hermes_import_";

/**
 * Lets `fill` make a board in a schema of a name that nobody looks for, and then gives it the name `schema`; false when
 * that is taken. A lock that ends with the connection tells a schema that is being filled from one that was left behind.
 */
export async function withStagedSchema(
  url: string,
  schema: string,
  fill: (staged: string) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  return withServer(url, signal, async (client) => {
    if (await isSchema(client, schema)) return false;
    await dropLeftSchemas(client);
    const staged = `${STAGED_SCHEMA}${randomBytes(8).toString("hex")}`;
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [staged]);
    try {
      await fill(staged);
      signal.throwIfAborted();
      await client.query(`alter schema "${staged}" rename to "${schema}"`);
      return true;
    } catch (error) {
      await client.query(`drop schema if exists "${staged}" cascade`).catch(() => undefined); // the next import does
      if (errnoOf(error) === "42P06") return false;
      throw error;
    }
  });
}

async function isSchema(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query("select 1 from pg_namespace where nspname = $1", [name]);
  return rows.length > 0;
}

/** Drops what a killed import has left behind, as far as it is ours to drop. */
async function dropLeftSchemas(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
      where starts_with(nspname, $1) and pg_has_role(nspowner, 'USAGE')`,
    [STAGED_SCHEMA],
  );
  for (const { name } of rows) {
    const taken = await client.query<{ free: boolean }>(
      "select pg_try_advisory_lock(hashtextextended($1, 0)) as free",
      [name],
    );
    if (taken.rows[0]?.free === true) await client.query(`drop schema if exists "${name}" cascade`);
  }
}

const isGone = (error: unknown): boolean => ["3F000", "42P01"].includes(errnoOf(error) ?? "");

async function withServer<Result>(
  url: string,
  signal: AbortSignal,
  action: (client: Client) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const name = describePostgres(url);
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...WAITS,
  });
  client.on("error", () => undefined); // a lost connection fails the query that has it
  try {
    await client.connect();
    return await action(client);
  } catch (error) {
    throw postgresError(error, name);
  } finally {
    await client.end().catch(() => undefined);
  }
}
