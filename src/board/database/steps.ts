import type { SqlValue } from "../../lib/sqlite/statement.ts";

export type SqlValues = Readonly<Record<string, SqlValue>>;

/** One statement with placeholders for both databases (see dialect.ts) and named values. */
export interface Query {
  readonly sql: string;
  readonly values: SqlValues;
  /** Whether the caller needs the rows or only the number of changed rows. */
  readonly returns: "rows" | "changes";
}

export interface QueryResult {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

/**
 * A database operation as a generator that yields statements and receives their results. It cannot await anything else, so
 * the same code runs synchronously on SQLite and asynchronously on PostgreSQL.
 */
export type Steps<Result> = Generator<Query, Result, QueryResult>;

export function* all<Row>(sql: string, values: SqlValues = {}): Steps<readonly Row[]> {
  const { rows } = yield { sql, values, returns: "rows" };
  return rows as readonly Row[];
}

/** The first row, if there is one. */
export function* first<Row>(sql: string, values: SqlValues = {}): Steps<Row | undefined> {
  const { rows } = yield { sql, values, returns: "rows" };
  return rows[0] as Row | undefined;
}

/** The first row of a statement that always returns one. */
export function* only<Row>(sql: string, values: SqlValues = {}): Steps<Row> {
  const row = yield* first<Row>(sql, values);
  if (row === undefined) throw new Error(`statement returned no row: ${sql}`);
  return row;
}

/** Runs a statement and returns the number of changed rows. */
export function* run(sql: string, values: SqlValues = {}): Steps<number> {
  const { changes } = yield { sql, values, returns: "changes" };
  return changes;
}

/** An asynchronous function with the arguments of an operation followed by a signal. */
export type AsyncOperation<Args extends unknown[], Result> = (
  ...args: [...Args, signal: AbortSignal]
) => Promise<Result>;

export function toAsyncOperation<Args extends unknown[], Result>(
  start: (args: Args, signal: AbortSignal) => Promise<Result>,
): AsyncOperation<Args, Result> {
  return (...args) => start(args.slice(0, -1) as Args, args.at(-1) as AbortSignal);
}
