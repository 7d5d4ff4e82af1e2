import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { AppError, errnoOf, messageOf } from "../../src/lib/errors.ts";
import { withFileLock } from "../../src/lib/files/file-lock.ts";
import { checkLiveness, readOwnIdentity } from "../../src/lib/process/process-identity.ts";
import { checkIntegrity } from "../../src/lib/sqlite/check-integrity.ts";
import { type Database, openDatabase } from "../../src/lib/sqlite/database.ts";
import { createLeases, leaseMigration } from "../../src/lib/sqlite/lease.ts";
import type { Migration } from "../../src/lib/sqlite/migrate.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { playRole, print, waitForLine } from "./child-role.ts";
import { BLOBS, COUNTER, LOGGED } from "./storage-fixtures.ts";
import { TurnableClock } from "./turnable-clock.ts";

/** Roles of other processes that use files in tests of storage; started by `startChild`. */
const ROLES = {
  async "import-only"({ path }: { path: string }) {
    const { cache } = createRequire(import.meta.url);
    const loaded = () => Object.keys(cache).some((file) => file.includes("better-sqlite3"));
    const before = loaded();
    using _database = await open(path, []);
    print({ before, after: loaded() });
  },

  async modes({ path, umask }: { path: string; umask: number }) {
    process.umask(umask);
    using database = await open(path, COUNTER);
    await increment(database);
    print(["", "-wal", "-shm"].map((suffix) => statSync(path + suffix).mode & 0o777));
  },

  /** Opens many new files, to compete with the other processes for each. */
  async "open-logged"({ paths }: { paths: string[] }) {
    await waitForLine();
    for (const path of paths) (await open(path, LOGGED))[Symbol.dispose]();
    print("opened");
  },

  async "crash-in-migration"({ path }: { path: string }) {
    const half: Migration = {
      name: "half",
      up: ({ exec }) => {
        exec("create table half (x); insert into applied values ('half'); pragma user_version = 9");
        process.kill(process.pid, "SIGKILL");
      },
    };
    await open(path, [...LOGGED, half]);
  },

  async "die-writing"({ path }: { path: string }) {
    using database = await open(path, COUNTER);
    await increment(database);
    await database.write(() => {
      database.prepare("update counter set value = 99").run();
      process.kill(process.pid, "SIGKILL");
    }, neverAborted);
  },

  async increment({ path, times }: { path: string; times: number }) {
    using database = await open(path, COUNTER);
    await waitForLine();
    for (let time = 0; time < times; time++) await increment(database);
    print("done");
  },

  /** Holds the write lock by plain SQL until a line arrives on stdin. */
  async "hold-write"({ path }: { path: string }) {
    const Sqlite = await loadSqlite();
    const raw = new Sqlite(path);
    raw.exec("begin immediate; update counter set value = value + 100");
    await waitForLine("held");
    raw.exec("commit");
    raw.close();
  },

  async "leave-hot-journal"({ path }: { path: string }) {
    const Sqlite = await loadSqlite();
    const raw = new Sqlite(path);
    raw.exec("pragma journal_mode = delete; pragma cache_size = 2; begin immediate");
    const insert = raw.prepare("insert into blob values (zeroblob(3000))");
    for (let row = 0; row < 200; row++) insert.run();
    process.kill(process.pid, "SIGKILL");
  },

  async "try-open"({ path }: { path: string }) {
    print(await failure(() => open(path, COUNTER)));
  },

  /** Expects a nearly full disk at `folder`. */
  async "fill-disk"({ folder }: { folder: string }) {
    const ballast = join(folder, "ballast");
    writeFileSync(ballast, new Uint8Array(128 * 1024));
    using database = await open(join(folder, "a.sqlite"), BLOBS);
    const insert = database.prepare("insert into blob values (zeroblob(?))");
    const add = () => database.write(() => void insert.run(16_384), neverAborted);
    let kept = 0;
    const full = await failure(async () => {
      for (; ; kept++) await add();
    });
    const fresh = await failure(() => open(join(folder, "b.sqlite"), BLOBS));
    const { rows } = database.prepare<{ rows: number }>("select count(*) as rows from blob").get() ?? {};
    const findings = checkIntegrity(database);
    rmSync(ballast);
    const afterwards = await failure(add);
    print({ full, fresh, kept, rows, findings, afterwards });
  },

  async "lock-increment"({ lock, file, times }: { lock: string; file: string; times: number }) {
    await waitForLine();
    for (let time = 0; time < times; time++) {
      await withFileLock({ path: lock, deadlineMs: 300_000 }, () => incrementFile(file), neverAborted);
    }
    print("done");
  },

  async "lock-hold"({ lock }: { lock: string }) {
    await withFileLock({ path: lock, deadlineMs: 300_000 }, () => waitForLine("held"), neverAborted);
  },

  async "lease-hold"({ path, name, ttlMs }: { path: string; name: string; ttlMs: number }) {
    using database = await open(path, [leaseMigration]);
    await waitForLine(
      await createLeases(database).acquire(name, await readOwnIdentity(neverAborted), ttlMs, neverAborted),
    );
  },

  /** Waits for a line on stdin, then takes a lease at the time `now`. */
  async "lease-try"({ path, name, now }: { path: string; name: string; now: number }) {
    using database = await open(path, [leaseMigration], new TurnableClock(now));
    const owner = await readOwnIdentity(neverAborted);
    await waitForLine();
    await waitForLine(await createLeases(database).acquire(name, owner, 60_000, neverAborted));
  },

  async "lease-increment"({ path, name, file, times }: LeaseIncrement) {
    using database = await open(path, [leaseMigration]);
    const leases = createLeases(database);
    const owner = await readOwnIdentity(neverAborted);
    await waitForLine();
    const tokens: number[] = [];
    while (tokens.length < times) {
      const taken = await leases.acquire(name, owner, 3_600_000, neverAborted);
      if ("heldBy" in taken) {
        await systemClock.sleep(1 + Math.random() * 10, neverAborted);
        continue;
      }
      await incrementFile(file);
      tokens.push(taken.token);
      await leases.release(name, taken.token, neverAborted);
    }
    print(tokens);
  },

  async identity() {
    await waitForLine(await readOwnIdentity(neverAborted));
  },

  /** The liveness of the process with pid 1, given a wrong identity. */
  async "liveness-of-first"() {
    print(
      await checkLiveness(
        { ...(await readOwnIdentity(neverAborted)), pid: 1, startTime: "wrong" },
        neverAborted,
      ),
    );
  },
};

interface LeaseIncrement {
  readonly path: string;
  readonly name: string;
  readonly file: string;
  readonly times: number;
}

function open(path: string, migrations: readonly Migration[], clock = systemClock): Promise<Database> {
  return openDatabase(
    path,
    { migrations, synchronous: "NORMAL", clock, busyDeadlineMs: 300_000 },
    neverAborted,
  );
}

function increment(database: Database): Promise<void> {
  return database.write(() => {
    // Read and written in two statements, so that a broken lock loses updates.
    const row = database.prepare<{ value: number }>("select value from counter").get();
    database.prepare("update counter set value = ?").run((row?.value ?? 0) + 1);
  }, neverAborted);
}

async function incrementFile(path: string): Promise<void> {
  const value = Number(readFileSync(path, "utf8"));
  await systemClock.sleep(1, neverAborted);
  writeFileSync(path, String(value + 1));
}

async function failure(action: () => Promise<unknown>): Promise<unknown> {
  try {
    await action();
    return "none";
  } catch (error) {
    if (!(error instanceof AppError)) return { code: "not known", message: messageOf(error) };
    return { code: error.code, hint: error.hint, message: error.message, cause: errnoOf(error.cause) };
  }
}

await playRole(ROLES);
