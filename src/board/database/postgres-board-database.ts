import type { Pool, PoolClient } from "pg";
import { AppError } from "../../lib/errors.ts";
import type { BoardDatabase } from "./board-database.ts";
import { boardMigrations } from "./board-schema.ts";
import { checkPostgresSchema } from "./check-postgres-schema.ts";
import { toPostgres } from "./dialect.ts";
import { isRetryable, postgresError } from "./postgres-error.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import type { Query, QueryResult, Steps } from "./steps.ts";

export interface PostgresBoardOptions {
  readonly url: string;
  /** The schema of this board; it contains nothing else. */
  readonly schema: string;
  /** Whether to create a missing schema. */
  readonly create: boolean;
  readonly connections?: number;
}

const CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 15_000;
const ATTEMPTS = 20; // retries after conflicts with other transactions
const TIMEOUTS = "-c lock_timeout=30000 -c idle_in_transaction_session_timeout=60000"; // bounds every wait
const INT8 = 20;
const READ_ONLY = "begin isolation level repeatable read read only";

/** Opens a board's schema; creates and migrates it as needed. */
export async function openPostgresBoard(
  { url, schema, create, connections = CONNECTIONS }: PostgresBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  signal.throwIfAborted();
  const name = `${describePostgres(url)}, schema ${schema}`;
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: withOptions(url, `-c search_path="${schema}" ${TIMEOUTS}`),
    application_name: schema,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    types: { getTypeParser: (oid: number) => (oid === INT8 ? Number : pg.types.getTypeParser(oid as never)) },
  });
  // A lost connection fails the running query. An idle connection emits an error event, which would crash without a
  // listener.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", () => undefined);
  try {
    await inTransaction(pool, "begin", (client) =>
      migratePostgres(client, { schema, name, create }, boardMigrations),
    );
  } catch (error) {
    await pool.end();
    throw postgresError(error, name);
  }

  /** Runs the steps in one transaction, and again when the database rolled it back due to a conflict. */
  async function transact<Result>(
    begin: string,
    steps: () => Steps<Result>,
    signal: AbortSignal,
    between?: () => Promise<void>,
  ): Promise<Result> {
    const drive = async (client: PoolClient): Promise<Result> => {
      const running = steps();
      let step = running.next();
      while (step.done !== true) {
        signal.throwIfAborted();
        step = running.next(await execute(client, step.value));
        await between?.();
      }
      return step.value;
    };
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await inTransaction(pool, begin, drive);
      } catch (error) {
        if (!isRetryable(error) || attempt === ATTEMPTS) throw postgresError(error, name);
      }
    }
  }

  return {
    name,
    read: (steps, signal, between) => transact(READ_ONLY, steps, signal, between),
    write: (steps, signal) => transact("begin", steps, signal),
    /** Checks only the schema; the server maintains its storage. */
    checkStorage: () =>
      inTransaction(
        pool,
        "begin",
        (client) => checkPostgresSchema(client, schema, boardMigrations),
        "rollback",
      ).catch((error: unknown) => {
        throw postgresError(error, name);
      }),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

async function execute(client: PoolClient, { sql, values }: Query): Promise<QueryResult> {
  const { name, text, parameters } = toPostgres(sql);
  const result = await client.query({ name, text, values: parameters.map((key) => values[key]) });
  return { rows: result.rows, changes: result.rowCount ?? 0 };
}

async function inTransaction<Result>(
  pool: Pool,
  begin: string,
  action: (client: PoolClient) => Promise<Result>,
  end: "commit" | "rollback" = "commit",
): Promise<Result> {
  const client = await pool.connect();
  let isBroken = false;
  try {
    await client.query(begin);
    const result = await action(client);
    await client.query(end);
    return result;
  } catch (error) {
    // A failed rollback means that the connection is lost, which ends the transaction too.
    await client.query("rollback").catch(() => {
      isBroken = true;
    });
    throw error;
  } finally {
    client.release(isBroken);
  }
}

/** Adds our options to the URL itself: options in the URL take precedence and would otherwise override our search path. */
function withOptions(url: string, ours: string): string {
  const address = new URL(url);
  address.searchParams.set("options", `${address.searchParams.get("options") ?? ""} ${ours}`.trim());
  return address.href;
}

/** The server URL without the password; throws `database-unavailable` for an invalid URL. */
export function describePostgres(url: string): string {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new AppError("database-unavailable", "kanban.database_url is not a PostgreSQL URL", {
      hint: "Write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE.",
    });
  }
  const { host, pathname } = new URL(url);
  return `postgres://${host}${pathname}`;
}
