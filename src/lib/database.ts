import { randomBytes } from "node:crypto";
import { type BigIntStats, existsSync, readdirSync, statSync } from "node:fs";
import { link, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Clock } from "./clock.ts";
import { connectSqlite } from "./connect-sqlite.ts";
import { databaseError, isBusy } from "./database-error.ts";
import { AppError, errnoOf, messageOf } from "./errors.ts";
import { type Migration, migrate, requireVersion } from "./migrate.ts";
import { type BusyDeadline, retryWhileBusy } from "./retry-while-busy.ts";
import type { SqliteConnection } from "./sqlite.ts";
import { GuardedStatement, type OpenTransaction, type Statement } from "./statement.ts";

/** One SQLite file, shared with any number of other processes. */
export interface Database extends Disposable {
  readonly path: string;
  /** Whether its file still exists, wherever it was moved. SQLite goes on writing into one that was removed, without a word. */
  hasFile(): boolean;
  /** The statement for this text, prepared once; callers share it. */
  prepare<Row>(sql: string): Statement<Row>;
  /**
   * Runs `action` inside BEGIN IMMEDIATE … COMMIT, at most once, and rolls back when it throws.
   * It is synchronous: to return a promise or to call `write` again in it is a programming error.
   */
  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result>;
}

export interface DatabaseOptions {
  readonly migrations: readonly Migration[];
  /** FULL also survives a loss of power with every commit; both survive the death of the process. */
  readonly synchronous: "NORMAL" | "FULL";
  /** What `hermes_now()` says in SQL, in whole milliseconds. */
  readonly clock: Clock;
  /** Whether an empty file is damage instead of the beginning of a new one. */
  readonly isNeverEmpty?: boolean;
  /** Reads every page for damage before anything else is done. */
  readonly quickCheck?: boolean;
  /** How long to wait for other processes before giving up with `database-busy`. */
  readonly busyDeadlineMs?: number;
}

const BUSY_TIMEOUT_MS = 100; // SQLite blocks the event loop for this long; after it we wait outside
const BUSY_DEADLINE_MS = 30_000;
/** A checkpoint waits for the disk twice, so that small transactions should share one; this is a log of 16 MB. */
const CHECKPOINT_PAGES = 4_000;
const PREPARED_STATEMENTS = 500; // text built at run time must not fill the memory

/** Opens a file, made and migrated as needed. One that is newer, foreign or damaged is refused and left as it is. */
export async function openDatabase(
  path: string,
  options: DatabaseOptions,
  signal: AbortSignal,
): Promise<Database> {
  signal.throwIfAborted();
  const file = resolve(path);
  const deadline: BusyDeadline = {
    deadlineMs: options.busyDeadlineMs ?? BUSY_DEADLINE_MS,
    failure: (cause) => new AppError("database-busy", `${file} is held by another process`, { cause }),
  };
  try {
    if (options.isNeverEmpty === true) await refuseEmptied(file, options, deadline, signal);
    await refuseUnusable(file, options, deadline, signal);
    return await openUsable(file, options, deadline, signal);
  } catch (error) {
    throw databaseError(error, file);
  }
}

/** Makes a missing file as a whole, after which an empty one is known to have lost what it held. */
async function refuseEmptied(
  path: string,
  options: DatabaseOptions,
  deadline: BusyDeadline,
  signal: AbortSignal,
): Promise<void> {
  const size = await sizeOf(path);
  if (size === undefined) await makeWhole(path, options, deadline, signal);
  if (size !== 0) return;
  throw new AppError("database-damaged", `${path} is empty, and no file of ours ever is.`, {
    hint: "Restore the file from a backup; to begin with nothing, remove it.",
  });
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw new AppError("database-unavailable", `${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Makes the file under another name and links it when it is complete: of several who do so at once, one wins. */
async function makeWhole(
  path: string,
  options: DatabaseOptions,
  deadline: BusyDeadline,
  signal: AbortSignal,
): Promise<void> {
  const draft = `${path}.new-${randomBytes(8).toString("hex")}`;
  try {
    (await openUsable(draft, options, deadline, signal))[Symbol.dispose](); // closing it empties its log into it
    await link(draft, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) await rm(`${draft}${suffix}`, { force: true });
  }
}

/** Looks through a connection that cannot write, because even closing one that can may alter the bytes of a file. */
async function refuseUnusable(
  path: string,
  options: DatabaseOptions,
  deadline: BusyDeadline,
  signal: AbortSignal,
  readonly = true,
): Promise<void> {
  const connection = await connectSqlite(path, { readonly, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    await retryWhileBusy(() => inspect(connection, path, options), deadline, signal);
  } catch (error) {
    // A crash left a half-done transaction, which only a connection that can write is able to undo.
    if (!readonly || errnoOf(error) !== "SQLITE_READONLY_ROLLBACK") throw error;
    await refuseUnusable(path, options, deadline, signal, false);
  } finally {
    connection.close();
  }
}

function inspect(connection: SqliteConnection, path: string, options: DatabaseOptions): void {
  requireVersion(connection, path, options.migrations.length);
  if (options.quickCheck !== true) return;
  const finding = connection.pragma("quick_check(1)", { simple: true });
  if (finding !== "ok") throw new AppError("database-damaged", `${path}: ${String(finding)}`);
}

async function openUsable(
  path: string,
  { migrations, synchronous, clock }: DatabaseOptions,
  deadline: BusyDeadline,
  signal: AbortSignal,
): Promise<Database> {
  const connection = await connectSqlite(path, { readonly: false, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    const version = await retryWhileBusy(
      () => {
        useWriteAheadLog(connection, path);
        return requireVersion(connection, path, migrations.length);
      },
      deadline,
      signal,
    );
    connection.pragma(`synchronous = ${synchronous}`);
    connection.pragma("foreign_keys = ON");
    connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    connection.function("hermes_now", () => BigInt(Math.trunc(clock.now()))); // a number would become REAL
    const database = new SqliteDatabase(path, connection, deadline);
    if (version < migrations.length) await migrate(connection, database, migrations, signal);
    return database;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function useWriteAheadLog(connection: SqliteConnection, path: string): void {
  const mode = connection.pragma("journal_mode = WAL", { simple: true });
  if (mode === "wal") return;
  throw new AppError("database-unavailable", `${path}: its file system does not allow a write-ahead log`, {
    hint: "Keep the file on a local disk.",
  });
}

class SqliteDatabase implements Database {
  readonly path: string;
  readonly #connection: SqliteConnection;
  readonly #deadline: BusyDeadline;
  readonly #statements = new Map<string, Statement<unknown>>();
  readonly #file: FileIdentity | undefined;
  readonly #transaction: OpenTransaction = { isOpen: false };
  readonly #begin: { run(): unknown };
  readonly #commit: { run(): unknown };
  readonly #rollback: { run(): unknown };

  constructor(path: string, connection: SqliteConnection, deadline: BusyDeadline) {
    this.path = path;
    this.#file = identityOf(path);
    this.#connection = connection;
    this.#deadline = deadline;
    this.#begin = connection.prepare("BEGIN IMMEDIATE");
    this.#commit = connection.prepare("COMMIT");
    this.#rollback = connection.prepare("ROLLBACK");
  }

  hasFile(): boolean {
    return isSame(identityOf(this.path), this.#file) || isOpenElsewhere(this.#file);
  }

  prepare<Row>(sql: string): Statement<Row> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known as Statement<Row>;
    if (this.#statements.size >= PREPARED_STATEMENTS) this.#statements.clear();
    try {
      const statement = new GuardedStatement<Row>(
        this.#connection.prepare(sql),
        this.path,
        this.#transaction,
      );
      this.#statements.set(sql, statement);
      return statement;
    } catch (error) {
      throw databaseError(error, this.path);
    }
  }

  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result> {
    if (this.#connection.inTransaction) throw new Error("write() was called inside write()");
    return retryWhileBusy(() => this.#transact(action), this.#deadline, signal);
  }

  /** Never yields, so that nobody else of this process comes between BEGIN and COMMIT. */
  #transact<Result>(action: () => Result): Result {
    this.#beginOrBusy();
    this.#transaction.isOpen = true;
    try {
      const result = action();
      if (isThenable(result))
        throw new Error("the action of write() must be synchronous, not return a promise");
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#connection.inTransaction) this.#rollback.run(); // after a full disk SQLite has done so itself
      throw databaseError(error, this.path);
    } finally {
      this.#transaction.isOpen = false;
    }
  }

  /** Leaves only "busy" as SQLite said it: nothing has happened yet, so it is safe to try again. */
  #beginOrBusy(): void {
    try {
      this.#begin.run();
    } catch (error) {
      throw isBusy(error) ? error : databaseError(error, this.path);
    }
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

type FileIdentity = Pick<BigIntStats, "dev" | "ino" | "nlink">;

const OPEN_FILES = "/proc/self/fd";

function identityOf(path: string): FileIdentity | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function isSame(one: FileIdentity | undefined, other: FileIdentity | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** Whether a file that this process has open still has a name. Systems without /proc tell of none. */
function isOpenElsewhere(file: FileIdentity | undefined): boolean {
  const open = existsSync(OPEN_FILES) ? readdirSync(OPEN_FILES) : [];
  return open.some((name) => {
    const found = identityOf(join(OPEN_FILES, name));
    return isSame(found, file) && found?.nlink !== 0n;
  });
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}
