import type { Pool, PoolClient } from "pg";
import { AppError } from "../../lib/errors.ts";
import type { BoardDatabase } from "./board-database.ts";
import { boardMigrations } from "./board-schema.ts";
import { checkPostgresSchema } from "./check-postgres-schema.ts";
import { type PostgresStatement, toPostgres } from "./dialect.ts";
import { isUndone, postgresError } from "./postgres-error.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import { type Answer, type Query, type Steps, TransactionOvertaken } from "./steps.ts";

export interface PostgresBoardOptions {
  readonly url: string;
  /** The schema that holds this board and nothing else. */
  readonly schema: string;
  /** Whether to make what is not there. */
  readonly create: boolean;
  readonly connections?: number;
}

const CONNECTIONS = 4;
const CONNECT_TIMEOUT_MS = 15_000;
const ATTEMPTS = 20; // a transaction is undone when it meets another one; so often in a row is no accident
const WAITS = "-c lock_timeout=30000 -c idle_in_transaction_session_timeout=60000"; // no wait without an end
const INT8 = 20;

/** Opens a board's schema, made and migrated as needed. */
export async function openPostgresBoard(
  { url, schema, create, connections = CONNECTIONS }: PostgresBoardOptions,
  signal: AbortSignal,
): Promise<BoardDatabase> {
  signal.throwIfAborted();
  const name = `${describePostgres(url)}, schema ${schema}`;
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: withOptions(url, `-c search_path="${schema}" ${WAITS}`),
    application_name: schema,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    types: { getTypeParser: (oid: number) => (oid === INT8 ? Number : pg.types.getTypeParser(oid as never)) },
  });
  // A lost connection fails the query that has it; while it has none, nobody but this would hear of it.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", () => undefined);
  try {
    await inTransaction(pool, async (client, open) => {
      await open();
      await migratePostgres(client, { schema, name, create }, boardMigrations);
    });
  } catch (error) {
    await pool.end();
    throw postgresError(error, name);
  }
  return new PostgresBoardDatabase(name, schema, pool);
}

class PostgresBoardDatabase implements BoardDatabase {
  readonly name: string;
  readonly #schema: string;
  readonly #pool: Pool;
  readonly #statements = new Map<string, PostgresStatement>();

  constructor(name: string, schema: string, pool: Pool) {
    this.name = name;
    this.#schema = schema;
    this.#pool = pool;
  }

  read<Result>(
    steps: () => Steps<Result>,
    signal: AbortSignal,
    between?: () => Promise<void>,
  ): Promise<Result> {
    const begin = "begin isolation level repeatable read read only";
    return this.#transact(begin, () => true, steps, signal, between);
  }

  /**
   * Begins with the first statement that writes or locks. Each statement has a snapshot of its own at this isolation
   * level, so what only looks before that needs no transaction; and those who find nothing to do, of whom there are
   * many, ask the server once instead of three times.
   */
  async write<Result>(steps: () => Steps<Result>, signal: AbortSignal): Promise<Result> {
    return this.#transact("begin", (query) => !onlyLooks(query), steps, signal);
  }

  async #transact<Result>(
    begin: string,
    needsTransaction: (query: Query) => boolean,
    steps: () => Steps<Result>,
    signal: AbortSignal,
    between?: () => Promise<void>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        const drive = (client: PoolClient, open: () => Promise<void>) =>
          this.#drive(
            client,
            steps(),
            { before: (query) => (needsTransaction(query) ? open() : undefined), after: between },
            signal,
          );
        return await inTransaction(this.#pool, drive, begin);
      } catch (error) {
        const again = isUndone(error) || error instanceof TransactionOvertaken;
        if (!again || attempt === ATTEMPTS) throw postgresError(error, this.name);
      }
    }
  }

  async #drive<Result>(
    client: PoolClient,
    steps: Steps<Result>,
    {
      before,
      after,
    }: {
      readonly before: (query: Query) => Promise<void> | undefined;
      readonly after: (() => Promise<void>) | undefined;
    },
    signal: AbortSignal,
  ): Promise<Result> {
    let step = steps.next();
    while (step.done !== true) {
      signal.throwIfAborted();
      await before(step.value);
      step = steps.next(await this.#execute(client, step.value));
      await after?.();
    }
    return step.value;
  }

  async #execute(client: PoolClient, { sql, values }: Query): Promise<Answer> {
    const { name, text, parameters } = this.#translate(sql);
    const result = await client.query({ name, text, values: parameters.map((key) => values[key]) });
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  }

  #translate(sql: string): PostgresStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = toPostgres(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** The server looks after its own pages. */
  async checkStorage(): Promise<readonly string[]> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      return await checkPostgresSchema(client, this.#schema, boardMigrations);
    } catch (error) {
      throw postgresError(error, this.name);
    } finally {
      const isBroken = await client.query("rollback").then(
        () => false,
        () => true, // the connection is gone, and with it the transaction
      );
      client.release(isBroken);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

const LOCKS_OR_COUNTS = /\{(lock|free|nextrun)/;

function onlyLooks({ sql, wants }: Query): boolean {
  return wants === "rows" && /^\s*select\b/i.test(sql) && !LOCKS_OR_COUNTS.test(sql);
}

/** Gives `action` a connection and the function that begins its transaction, which is committed if it was begun. */
async function inTransaction<Result>(
  pool: Pool,
  action: (client: PoolClient, open: () => Promise<void>) => Promise<Result>,
  begin = "begin",
): Promise<Result> {
  const client = await pool.connect();
  let isOpen = false;
  let broken = false;
  const open = async (): Promise<void> => {
    if (isOpen) return;
    isOpen = true;
    await client.query(begin);
  };
  try {
    const result = await action(client, open);
    if (isOpen) await client.query("commit");
    return result;
  } catch (error) {
    // Also to find out whether the connection is gone, and with it the transaction.
    await client.query("rollback").catch(() => {
      broken = true;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Put into the address itself: options in there would win over ours, and then nothing would be in its schema. */
function withOptions(url: string, ours: string): string {
  const address = new URL(url);
  address.searchParams.set("options", `${address.searchParams.get("options") ?? ""} ${ours}`.trim());
  return address.href;
}

/** The server without the password; throws for what is no address of one. */
export function describePostgres(url: string): string {
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new AppError(
      "database-unavailable",
      "kanban.database_url is not the address of a PostgreSQL database",
      {
        hint: "Write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE.",
      },
    );
  }
  const { host, pathname } = new URL(url); // without the password
  return `postgres://${host}${pathname}`;
}
