import type { SqlValue } from "../../lib/statement.ts";

export type SqlValues = Readonly<Record<string, SqlValue>>;

/** One statement in the words of both databases (see dialect.ts), with its values by name. */
export interface Query {
  readonly sql: string;
  readonly values: SqlValues;
  /** Whether rows are wanted or only how many were changed. */
  readonly wants: "rows" | "changes";
}

export interface Answer {
  readonly rows: readonly unknown[];
  readonly changes: number;
}

/**
 * Work on a database as a generator that yields statements and gets their answers. Nothing else can be awaited in it,
 * so the same code is driven without a pause on SQLite and asynchronously on PostgreSQL.
 */
export type Steps<Result> = Generator<Query, Result, Answer>;

/** Thrown by steps that another transaction has overtaken: undone, and run again by whoever drives them. */
export class TransactionOvertaken extends Error {
  override readonly name = "TransactionOvertaken";
}

/** A statement whose rows are wanted, for `yield` itself: each generator between it and the database costs time. */
export function wantRows(sql: string, values: SqlValues = {}): Query {
  return { sql, values, wants: "rows" };
}

/** A statement of which only the number of changed rows is wanted, for `yield` itself. */
export function wantChanges(sql: string, values: SqlValues = {}): Query {
  return { sql, values, wants: "changes" };
}

export function* all<Row>(sql: string, values?: SqlValues): Steps<readonly Row[]> {
  const { rows } = yield wantRows(sql, values);
  return rows as readonly Row[];
}

/** The first row, if there is one. */
export function* first<Row>(sql: string, values?: SqlValues): Steps<Row | undefined> {
  const { rows } = yield wantRows(sql, values);
  return rows[0] as Row | undefined;
}

/** The first row of a statement that always has one. */
export function* only<Row>(sql: string, values?: SqlValues): Steps<Row> {
  const row = yield* first<Row>(sql, values);
  if (row === undefined) throw new Error(`no row came from: ${sql}`);
  return row;
}

/** How many rows were changed. */
export function* run(sql: string, values?: SqlValues): Steps<number> {
  const { changes } = yield wantChanges(sql, values);
  return changes;
}
