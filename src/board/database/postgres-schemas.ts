import { randomBytes } from "node:crypto";
import type { Client } from "pg";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { describePostgres } from "./postgres-board-database.ts";
import { postgresError } from "./postgres-error.ts";
import { MIGRATION_LOCK } from "./postgres-migrate.ts";

const CONNECT_TIMEOUT_MS = 15_000;
const TIMEOUTS = { lock_timeout: 30_000, statement_timeout: 60_000 }; // bounds every wait

/** The schemas with this prefix that contain a board, sorted by name. */
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

/** Finds the slug of the board in a schema; undefined when the board was removed. */
export async function findSlugOfSchema(
  url: string,
  schema: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return withServer(url, signal, async (client) => {
    try {
      const { rows } = await client.query<{ slug: string }>(`select slug from "${schema}".board`);
      return rows[0]?.slug;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  });
}

/** Renames the schema of a board to `archived`, or drops it when `archived` is undefined; throws `board-not-found`. */
export async function removeBoardSchema(
  url: string,
  schema: string,
  archived: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await withServer(url, signal, async (client) => {
    await client.query("begin"); // on failure, closing the connection rolls back
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]); // waits for a concurrent creation
    try {
      await client.query(
        archived === undefined
          ? `drop schema "${schema}" cascade`
          : `alter schema "${schema}" rename to "${archived}"`,
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new AppError("board-not-found", `There is no board in the schema ${schema}.`, { cause: error });
    }
    await client.query("commit");
  });
}

const STAGED_SCHEMA = "hermes_import_";

/** Creates a board with `fill` in a temporary schema and renames that to `schema`; returns false when the name is taken. */
export async function withStagedSchema(
  url: string,
  schema: string,
  fill: (staged: string) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  return withServer(url, signal, async (client) => {
    const taken = await client.query("select 1 from pg_namespace where nspname = $1", [schema]);
    if (taken.rows.length > 0) return false;
    await dropLeftoverSchemas(client);
    const staged = `${STAGED_SCHEMA}${randomBytes(8).toString("hex")}`;
    // Released with the connection, so that the lock distinguishes a schema in use from a leftover one.
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [staged]);
    try {
      await fill(staged);
      signal.throwIfAborted();
      await client.query(`alter schema "${staged}" rename to "${schema}"`);
      return true;
    } catch (error) {
      // If this fails, the next import drops the schema.
      await client.query(`drop schema if exists "${staged}" cascade`).catch(() => undefined);
      if (errnoOf(error) === "42P06") return false;
      throw error;
    }
  });
}

/** Drops the schemas of killed imports that this role owns. */
async function dropLeftoverSchemas(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
      where starts_with(nspname, $1) and pg_has_role(nspowner, 'USAGE')`,
    [STAGED_SCHEMA],
  );
  for (const { name } of rows) {
    const locked = await client.query<{ free: boolean }>(
      "select pg_try_advisory_lock(hashtextextended($1, 0)) as free",
      [name],
    );
    if (locked.rows[0]?.free === true) await client.query(`drop schema if exists "${name}" cascade`);
  }
}

const isMissing = (error: unknown): boolean => ["3F000", "42P01"].includes(errnoOf(error) ?? "");

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
    ...TIMEOUTS,
  });
  client.on("error", () => undefined); // a lost connection also fails the running query
  try {
    await client.connect();
    return await action(client);
  } catch (error) {
    throw postgresError(error, name);
  } finally {
    await client.end().catch(() => undefined);
  }
}
