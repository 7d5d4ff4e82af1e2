import { randomBytes } from "node:crypto";
import { type BigIntStats, existsSync, readdirSync, statSync } from "node:fs";
import { link, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AppError, errnoOf, messageOf } from "../errors.ts";
import { findFileSize } from "../files/files.ts";
import type { Clock } from "../time/clock.ts";
import { connectSqlite } from "./connect-sqlite.ts";
import { isBusy, mapDatabaseError } from "./database-error.ts";
import { type Migration, migrate, refuseNewer, requireVersion } from "./migrate.ts";
import { type BusyDeadline, retryWhileBusy } from "./retry-while-busy.ts";
import type { SqliteConnection } from "./sqlite.ts";
import { guardStatement, type Statement, type TransactionState } from "./statement.ts";

/** A SQLite file that may be shared with other processes. */
export interface Database extends Disposable {
  readonly path: string;
  /** Whether the file still exists, even under another name. SQLite silently keeps writing to a removed file. */
  hasFile(): boolean;
  /** Throws `database-replaced` when the path no longer names the open file. */
  requireSameFile(): void;
  /** Returns the statement for this text, which is prepared once and shared by all callers. */
  prepare<Row>(sql: string): Statement<Row>;
  /**
   * Runs `action` inside BEGIN IMMEDIATE … COMMIT, at most once, and rolls back when it throws.
   * `action` is synchronous: returning a promise or calling `write` inside it is a programming error.
   */
  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result>;
  /** Gives unused pages back to the file system, in short transactions. False if the file keeps its size. */
  releaseSpace(signal: AbortSignal): Promise<boolean>;
}

export interface DatabaseOptions {
  readonly migrations: readonly Migration[];
  /** FULL keeps every commit even after a power failure; both keep every commit when the process is killed. */
  readonly synchronous: "NORMAL" | "FULL";
  /** The time of `hermes_now()` in SQL, in whole milliseconds. */
  readonly clock: Clock;
  /** Treats an empty file as damaged instead of as a new database. */
  readonly isNeverEmpty?: boolean;
  /** Creates the file so that `releaseSpace` can shrink it step by step, at whatever size. */
  readonly canShrink?: boolean;
  /** Checks every page for damage before anything else. */
  readonly quickCheck?: boolean;
  /** How long to wait for other processes before giving up with `database-busy`. */
  readonly busyDeadlineMs?: number;
}

const BUSY_TIMEOUT_MS = 100; // SQLite blocks the event loop for this long; longer waits are asynchronous
const BUSY_DEADLINE_MS = 30_000;
/** A checkpoint syncs the disk twice, so many small transactions share one. Corresponds to a log of 16 MB. */
const CHECKPOINT_PAGES = 4_000;
const INCREMENTAL = 2; // the value of `pragma auto_vacuum` for files that can shrink step by step
const RELEASED_PAGES = 2_000; // per transaction: about 10 ms
/** Rewriting a file blocks other writers; up to this size it takes less than two seconds. */
const REWRITABLE_BYTES = 100_000_000;
const PREPARED_STATEMENTS = 500; // SQL text built at run time must not fill the memory

/** Opens a file, creating and migrating it as needed. A newer, foreign or damaged file is refused and not changed. */
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
  const open = (at: string): Promise<Database> => openUsable(at, options, deadline, signal);
  try {
    if (options.isNeverEmpty === true) await refuseEmpty(file, open);
    await refuseUnusable(file, options, deadline, signal);
    return await open(file);
  } catch (error) {
    throw mapDatabaseError(error, file);
  }
}

/** Creates a missing file atomically, so that an empty file can only be one that has lost its content. */
async function refuseEmpty(path: string, create: (path: string) => Promise<Database>): Promise<void> {
  const size = await findFileSize(path).catch((cause: unknown) => {
    throw new AppError("database-unavailable", `${path}: ${messageOf(cause)}`, { cause });
  });
  if (size === undefined) await createAtomically(path, create);
  if (size !== 0) return;
  throw new AppError("database-damaged", `${path} is empty, but a database of Hermes never is.`, {
    hint: "Restore the file from a backup; to start with an empty database, remove it.",
  });
}

/** Creates the file under a temporary name and links it when complete: of several concurrent processes, one wins. */
async function createAtomically(path: string, create: (path: string) => Promise<Database>): Promise<void> {
  const temporary = `${path}.new-${randomBytes(8).toString("hex")}`;
  try {
    (await create(temporary))[Symbol.dispose](); // closing merges the log into the file
    await link(temporary, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) await rm(`${temporary}${suffix}`, { force: true });
  }
}

/** Inspects the file through a read-only connection, because even closing a writable one may change its bytes. */
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
    // A crash left an unfinished transaction, which only a writable connection can roll back.
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
  { migrations, synchronous, clock, canShrink = false }: DatabaseOptions,
  deadline: BusyDeadline,
  signal: AbortSignal,
): Promise<Database> {
  const connection = await connectSqlite(path, { readonly: false, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    const version = await retryWhileBusy(
      () => {
        if (canShrink) connection.pragma(`auto_vacuum = ${INCREMENTAL}`); // no effect on an existing file
        useWriteAheadLog(connection, path);
        return requireVersion(connection, path, migrations.length);
      },
      deadline,
      signal,
    );
    connection.pragma(`synchronous = ${synchronous}`);
    connection.pragma("foreign_keys = ON");
    connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    connection.function("hermes_now", () => BigInt(Math.trunc(clock.now()))); // a JavaScript number would become REAL
    const database = new SqliteDatabase(path, connection, deadline, migrations.length);
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
  readonly #transaction: TransactionState = { isOpen: false };
  readonly #known: number;
  readonly #version: { get(): unknown };
  readonly #begin: { run(): unknown };
  readonly #commit: { run(): unknown };
  readonly #rollback: { run(): unknown };

  constructor(path: string, connection: SqliteConnection, deadline: BusyDeadline, known: number) {
    this.path = path;
    this.#file = identityOf(path);
    this.#connection = connection;
    this.#deadline = deadline;
    this.#known = known;
    this.#version = connection.prepare("PRAGMA user_version").pluck();
    this.#begin = connection.prepare("BEGIN IMMEDIATE");
    this.#commit = connection.prepare("COMMIT");
    this.#rollback = connection.prepare("ROLLBACK");
  }

  hasFile(): boolean {
    return isSame(identityOf(this.path), this.#file) || hasOtherName(this.#file);
  }

  requireSameFile(): void {
    if (isSame(identityOf(this.path), this.#file)) return;
    throw new AppError("database-replaced", `${this.path} was replaced or removed while it was open.`);
  }

  prepare<Row>(sql: string): Statement<Row> {
    const cached = this.#statements.get(sql);
    if (cached !== undefined) return cached as Statement<Row>;
    if (this.#statements.size >= PREPARED_STATEMENTS) this.#statements.clear();
    try {
      const statement = guardStatement<Row>(this.#connection.prepare(sql), this.path, this.#transaction);
      this.#statements.set(sql, statement);
      return statement;
    } catch (error) {
      throw mapDatabaseError(error, this.path);
    }
  }

  write<Result>(action: () => Result, signal: AbortSignal): Promise<Result> {
    if (this.#connection.inTransaction) throw new Error("write() was called inside write()");
    return retryWhileBusy(() => this.#transact(action), this.#deadline, signal);
  }

  /** Never yields, so that no other code of this process runs between BEGIN and COMMIT. */
  #transact<Result>(action: () => Result): Result {
    this.#beginOrBusy();
    this.#transaction.isOpen = true;
    try {
      // A newer build may have migrated the file since it was opened.
      refuseNewer(this.path, Number(this.#version.get()), this.#known);
      const result = action();
      if (isThenable(result))
        throw new Error("the action of write() must be synchronous, not return a promise");
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#connection.inTransaction) this.#rollback.run(); // on a full disk SQLite has already rolled back
      throw mapDatabaseError(error, this.path);
    } finally {
      this.#transaction.isOpen = false;
    }
  }

  /** Rethrows "busy" unchanged: nothing has been executed yet, so `retryWhileBusy` may try again. */
  #beginOrBusy(): void {
    try {
      this.#begin.run();
    } catch (error) {
      throw isBusy(error) ? error : mapDatabaseError(error, this.path);
    }
  }

  async releaseSpace(signal: AbortSignal): Promise<boolean> {
    const connection = this.#connection;
    const read = (name: string): number => Number(connection.pragma(name, { simple: true }));
    if (read("auto_vacuum") !== INCREMENTAL) {
      if (read("page_count") * read("page_size") > REWRITABLE_BYTES) return false;
      connection.pragma(`auto_vacuum = ${INCREMENTAL}`);
      await retryWhileBusy(() => connection.exec("VACUUM"), this.#deadline, signal);
    }
    for (let left = read("freelist_count"), before = left + 1; left > 0 && left < before; ) {
      await this.write(() => connection.pragma(`incremental_vacuum(${RELEASED_PAGES})`), signal);
      [before, left] = [left, read("freelist_count")];
    }
    return true;
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

/** Whether a file that this process has open still has a name. Always false without /proc. */
function hasOtherName(file: FileIdentity | undefined): boolean {
  const open = existsSync(OPEN_FILES) ? readdirSync(OPEN_FILES) : [];
  return open.some((name) => {
    const found = identityOf(join(OPEN_FILES, name));
    return isSame(found, file) && found?.nlink !== 0n;
  });
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}
