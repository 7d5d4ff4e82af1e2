import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { scale } from "../../../test/support/scale.ts";
import { COUNTER } from "../../../test/support/storage-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { TurnableClock } from "../../../test/support/turnable-clock.ts";
import { systemClock } from "../time/clock.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./database.ts";

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);

function open(
  path: string,
  options: Partial<DatabaseOptions> = {},
  signal = neverAborted,
): Promise<Database> {
  return openDatabase(
    path,
    { migrations: COUNTER, synchronous: "NORMAL", clock: systemClock, ...options },
    signal,
  );
}

function valueIn(database: Database): number | undefined {
  return database.prepare<{ value: number }>("select value from counter").get()?.value;
}

function setTo(database: Database, value: number): void {
  database.prepare("update counter set value = ?").run(value);
}

test("importing the module does not load SQLite", async () => {
  await using folder = await tempFolder();
  await using child = startChild(CHILD, "import-only", { path: folder.file("a.sqlite") });
  expect(await child.next()).toEqual({ before: false, after: true });
});

test("a file is opened with a write-ahead log, the requested durability, and foreign keys enforced", async () => {
  await using folder = await tempFolder();
  for (const [synchronous, level] of [
    ["NORMAL", 1],
    ["FULL", 2],
  ] as const) {
    using database = await open(folder.file(`${synchronous}.sqlite`), { synchronous });
    const journal = await database.write(() => database.prepare("pragma journal_mode").get(), neverAborted);
    expect(journal).toEqual({ journal_mode: "wal" });
    expect(database.prepare("pragma synchronous").get()).toEqual({ synchronous: level });
    expect(database.prepare("pragma foreign_keys").get()).toEqual({ foreign_keys: 1 });
    const [{ timeout } = { timeout: -1 }] = database
      .prepare<{ timeout: number }>("pragma busy_timeout")
      .all();
    expect(timeout).toBeLessThanOrEqual(250);
  }
});

test("written data exists when the file is opened again", async () => {
  await using folder = await tempFolder();
  {
    using database = await open(folder.file("a.sqlite"));
    const changed = await database.write(
      () => database.prepare("update counter set value = 5").run(),
      neverAborted,
    );
    expect(changed).toMatchObject({ changes: 1 });
  }
  using database = await open(folder.file("a.sqlite"));
  expect(valueIn(database)).toBe(5);
});

test("an action that throws is rolled back, and its error is passed on unchanged", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  const mistake = Object.assign(new Error("mine"), { code: "ENOENT" });
  const write = database.write(() => {
    setTo(database, 5);
    throw mistake;
  }, neverAborted);
  await expect(write).rejects.toBe(mistake);
  expect(valueIn(database)).toBe(0);
  await database.write(() => setTo(database, 6), neverAborted);
  expect(valueIn(database)).toBe(6);
});

test("a violated constraint is passed on to the caller unchanged", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  const write = database.write(() => database.prepare("update counter set value = null").run(), neverAborted);
  await expect(write).rejects.toMatchObject({ code: "SQLITE_CONSTRAINT_NOTNULL" });
});

test("a write inside a write is a programming error that rolls back the outer write", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  const outer = database.write(() => {
    setTo(database, 5);
    void database.write(() => setTo(database, 6), neverAborted);
  }, neverAborted);
  await expect(outer).rejects.toThrow("write() was called inside write()");
  expect(valueIn(database)).toBe(0);
});

test("an action that returns a promise is a programming error and is rolled back", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  const write = database.write(async () => setTo(database, 5), neverAborted);
  await expect(write).rejects.toThrow("must be synchronous");
  expect(valueIn(database)).toBe(0);
});

test("a statement that writes is refused outside a transaction", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  expect(() => setTo(database, 5)).toThrow("only inside write()");
  const returning = database.prepare("update counter set value = 5 returning value");
  expect(() => returning.get()).toThrow("only inside write()");
  expect(() => returning.all()).toThrow("only inside write()");
  expect(valueIn(database)).toBe(0);
});

test("after SQLite has rolled back a transaction by itself, further writes of its action are refused", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"), {
    migrations: [
      ...COUNTER,
      {
        name: "undo",
        sql: "create trigger undo after update on counter when new.value = 7 begin select raise(rollback, 'no'); end",
      },
    ],
  });
  const writing = database.write(() => {
    expect(() => setTo(database, 7)).toThrow("no");
    setTo(database, 8);
  }, neverAborted);
  await expect(writing).rejects.toThrow(/inside write/);
  expect(valueIn(database)).toBe(0);
});

test("many writes started at once in one process do not disturb each other", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  using other = await open(folder.file("a.sqlite"));
  const increments = Array.from({ length: 100 }, (_, index) => {
    const target = index % 2 === 0 ? database : other;
    return target.write(() => setTo(target, (valueIn(target) ?? 0) + 1), neverAborted);
  });
  await Promise.all(increments);
  expect(valueIn(database)).toBe(100);
});

test("the same SQL text is prepared once, and generated SQL texts do not accumulate", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  const statement = database.prepare("select 1 as one");
  expect(database.prepare("select 1 as one")).toBe(statement);
  for (let index = 0; index < 2_000; index++) database.prepare(`select ${index} as many`);
  expect(database.prepare("select 1 as one")).not.toBe(statement);
  expect(statement.get()).toEqual({ one: 1 });
});

test("hermes_now() returns the time of the given clock in whole milliseconds", async () => {
  await using folder = await tempFolder();
  const clock = new TurnableClock(1_700_000_000_000.7);
  using database = await open(folder.file("a.sqlite"), { clock });
  const now = database.prepare("select hermes_now() as now, typeof(hermes_now()) as type");
  expect(now.get()).toEqual({ now: 1_700_000_000_000, type: "integer" });
  await clock.advance(2_000);
  expect(now.get()).toEqual({ now: 1_700_000_002_000, type: "integer" });
});

test("a write waits for another process without blocking this one", async () => {
  await using folder = await tempFolder();
  using database = await open(folder.file("a.sqlite"));
  await using holder = startChild(CHILD, "hold-write", { path: folder.file("a.sqlite") });
  expect(await holder.next()).toBe("held");
  let settled = false;
  const write = database
    .write(() => setTo(database, (valueIn(database) ?? 0) + 1), neverAborted)
    .finally(() => {
      settled = true;
    });
  for (let turns = 0; turns < 10; turns++) await sleep(10); // completes only if the event loop is not blocked
  expect(settled).toBe(false);
  holder.send("let go");
  await write;
  expect(valueIn(database)).toBe(101);
});

test("waiting for another process ends at the deadline or on abort, with nothing written", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  using database = await open(path, { busyDeadlineMs: 300 });
  await using holder = startChild(CHILD, "hold-write", { path });
  expect(await holder.next()).toBe("held");
  const late = database.write(() => setTo(database, 5), neverAborted);
  await expect(late).rejects.toMatchObject({ code: "database-busy", message: expect.stringContaining(path) });
  const reason = new Error("enough");
  const controller = new AbortController();
  using patient = await open(path);
  const aborted = patient.write(() => setTo(patient, 5), controller.signal);
  setTimeout(() => controller.abort(reason), 50);
  await expect(aborted).rejects.toBe(reason);
  holder.send("let go");
  await holder.ended;
  expect(valueIn(database)).toBe(100);
});

test("an aborted signal opens nothing and writes nothing", async () => {
  await using folder = await tempFolder();
  const reason = new Error("enough");
  using database = await open(folder.file("a.sqlite"));
  await expect(database.write(() => setTo(database, 5), AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(open(folder.file("b.sqlite"), {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(valueIn(database)).toBe(0);
  expect(existsSync(folder.file("b.sqlite"))).toBe(false);
});

test("many processes that increment a counter at the same time lose no update", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await using counters = startChildren(scale.processes, CHILD, "increment", { path, times: 50 });
  await counters.next();
  counters.send("go");
  expect(new Set(await counters.next())).toEqual(new Set(["done"]));
  using database = await open(path);
  expect(valueIn(database)).toBe(scale.processes * 50);
});

test("a process killed during a write leaves the committed data and no lock", async () => {
  await using folder = await tempFolder();
  await using child = startChild(CHILD, "die-writing", { path: folder.file("a.sqlite") });
  expect(await child.ended).toBe("SIGKILL");
  using database = await open(folder.file("a.sqlite"));
  expect(valueIn(database)).toBe(1);
  await database.write(() => setTo(database, 2), neverAborted);
});
