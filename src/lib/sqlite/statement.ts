import type Sqlite from "better-sqlite3";
import { mapDatabaseError } from "./database-error.ts";

export type SqlValue = string | number | bigint | Uint8Array | null;
export type SqlParameter = SqlValue | readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

/** A prepared statement. A writing statement runs only inside `Database.write`. */
export interface Statement<Row> {
  get(...parameters: SqlParameter[]): Row | undefined;
  all(...parameters: SqlParameter[]): Row[];
  run(...parameters: SqlParameter[]): { readonly changes: number };
}

/** Whether a transaction is open. Kept here, because asking SQLite before each statement takes longer than some statements. */
export interface TransactionState {
  isOpen: boolean;
}

/** Wraps a statement so that it maps errors to known failures and refuses to write outside a transaction. */
export function guardStatement<Row>(
  raw: Sqlite.Statement<SqlParameter[], Row>,
  path: string,
  transaction: TransactionState,
): Statement<Row> {
  const writes = !raw.readonly;
  const guard =
    <Result>(call: (parameters: SqlParameter[]) => Result) =>
    (...parameters: SqlParameter[]): Result => {
      if (writes && !transaction.isOpen)
        throw new Error(`this statement writes, so it runs only inside write(): ${raw.source}`);
      try {
        return call(parameters);
      } catch (error) {
        // SQLite may have rolled back, for instance on a full disk: later statements would run outside the transaction.
        if (!raw.database.inTransaction) transaction.isOpen = false;
        throw mapDatabaseError(error, path);
      }
    };
  return {
    get: guard((parameters) => raw.get(...parameters)),
    all: guard((parameters) => raw.all(...parameters)),
    run: guard((parameters) => raw.run(...parameters)),
  };
}
