import type Sqlite from "better-sqlite3";
import { databaseError } from "./database-error.ts";

export type SqlValue = string | number | bigint | Uint8Array | null;
export type SqlParameter = SqlValue | Readonly<Record<string, SqlValue>>;

/** A prepared statement. One that writes runs only inside `Database.write`. */
export interface Statement<Row> {
  get(...parameters: SqlParameter[]): Row | undefined;
  all(...parameters: SqlParameter[]): Row[];
  run(...parameters: SqlParameter[]): { readonly changes: number };
}

/** A statement whose failures are known ones, and which refuses to write outside a transaction. */
export class GuardedStatement<Row> implements Statement<Row> {
  readonly #raw: Sqlite.Statement<SqlParameter[], Row>;
  readonly #path: string;
  readonly #writes: boolean;

  constructor(raw: Sqlite.Statement<SqlParameter[], Row>, path: string) {
    this.#raw = raw;
    this.#path = path;
    this.#writes = !raw.readonly;
  }

  get(...parameters: SqlParameter[]): Row | undefined {
    this.#guard();
    try {
      return this.#raw.get(...parameters);
    } catch (error) {
      throw databaseError(error, this.#path);
    }
  }

  all(...parameters: SqlParameter[]): Row[] {
    this.#guard();
    try {
      return this.#raw.all(...parameters);
    } catch (error) {
      throw databaseError(error, this.#path);
    }
  }

  run(...parameters: SqlParameter[]): { readonly changes: number } {
    this.#guard();
    try {
      return this.#raw.run(...parameters);
    } catch (error) {
      throw databaseError(error, this.#path);
    }
  }

  #guard(): void {
    if (this.#writes && !this.#raw.database.inTransaction) {
      throw new Error(`this statement writes, so it runs only inside write(): ${this.#raw.source}`);
    }
  }
}
