import type Sqlite from "better-sqlite3";
import { databaseError } from "./database-error.ts";

export type SqlValue = string | number | bigint | Uint8Array | null;
export type SqlParameter = SqlValue | readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

/** A prepared statement. One that writes runs only inside `Database.write`. */
export interface Statement<Row> {
  get(...parameters: SqlParameter[]): Row | undefined;
  all(...parameters: SqlParameter[]): Row[];
  run(...parameters: SqlParameter[]): { readonly changes: number };
}

/** Whether a transaction is open, for those who must not ask SQLite before each statement: that takes longer than some. */
export interface OpenTransaction {
  isOpen: boolean;
}

/** A statement whose failures are known ones, and which refuses to write outside a transaction. */
export class GuardedStatement<Row> implements Statement<Row> {
  readonly #raw: Sqlite.Statement<SqlParameter[], Row>;
  readonly #path: string;
  readonly #writes: boolean;
  readonly #transaction: OpenTransaction;

  constructor(raw: Sqlite.Statement<SqlParameter[], Row>, path: string, transaction: OpenTransaction) {
    this.#raw = raw;
    this.#path = path;
    this.#transaction = transaction;
    this.#writes = !raw.readonly;
  }

  get(...parameters: SqlParameter[]): Row | undefined {
    this.#guard();
    try {
      return this.#raw.get(...parameters);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  all(...parameters: SqlParameter[]): Row[] {
    this.#guard();
    try {
      return this.#raw.all(...parameters);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  run(...parameters: SqlParameter[]): { readonly changes: number } {
    this.#guard();
    try {
      return this.#raw.run(...parameters);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** SQLite may have rolled back by itself, for instance on a full disk: what came now would be a transaction of its own. */
  #failure(error: unknown): unknown {
    if (!this.#raw.database.inTransaction) this.#transaction.isOpen = false;
    return databaseError(error, this.#path);
  }

  #guard(): void {
    if (this.#writes && !this.#transaction.isOpen) {
      throw new Error(`this statement writes, so it runs only inside write(): ${this.#raw.source}`);
    }
  }
}
