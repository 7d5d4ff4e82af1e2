import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startChild, startChildren } from "../../../test/support/child.ts";
import { scale } from "../../../test/support/scale.ts";
import { LOGGED } from "../../../test/support/storage-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../time/clock.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Migration } from "./migrate.ts";
import { loadSqlite } from "./sqlite.ts";

const Sqlite = await loadSqlite();

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);

function open(path: string, migrations: readonly Migration[] = LOGGED): Promise<Database> {
  return openDatabase(path, { migrations, synchronous: "NORMAL", clock: systemClock }, neverAborted);
}

function appliedIn(database: Database): string[] {
  return database
    .prepare<{ name: string }>("select name from applied order by rowid")
    .all()
    .map((row) => row.name);
}

function versionIn(database: Database): unknown {
  return database.prepare("select user_version as version from pragma_user_version").get();
}

/** All user data: the file and its write-ahead log. */
function bytesOf(path: string): string[] {
  return [path, `${path}-wal`, `${path}-journal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file))
    .filter((content) => content.length > 0)
    .map((content) => createHash("sha256").update(content).digest("hex"));
}

test("a new file gets every migration in order; an old file gets the missing ones", async () => {
  await using folder = await tempFolder();
  {
    using database = await open(folder.file("a.sqlite"), LOGGED.slice(0, 1));
    expect(appliedIn(database)).toEqual(["first"]);
  }
  for (let time = 0; time < 2; time++) {
    using database = await open(folder.file("a.sqlite"));
    expect(appliedIn(database)).toEqual(["first", "second", "third"]);
    expect(versionIn(database)).toEqual({ version: 3 });
  }
});

test("many processes that open a new file at the same time apply each migration exactly once", {
  timeout: 600_000,
}, async () => {
  await using folder = await tempFolder();
  const paths = Array.from({ length: 10 }, (_, index) => folder.file(`${index}.sqlite`));
  await using openers = startChildren(scale.processes, CHILD, "open-logged", { paths });
  await openers.next();
  openers.send("go");
  expect(new Set(await openers.next())).toEqual(new Set(["opened"]));
  for (const path of paths) {
    using database = await open(path);
    expect(appliedIn(database)).toEqual(["first", "second", "third"]);
  }
});

test("a process killed during a migration leaves the version before it", async () => {
  await using folder = await tempFolder();
  await using child = startChild(CHILD, "crash-in-migration", { path: folder.file("a.sqlite") });
  expect(await child.ended).toBe("SIGKILL");
  using database = await open(folder.file("a.sqlite"));
  expect(appliedIn(database)).toEqual(["first", "second", "third"]);
  expect(versionIn(database)).toEqual({ version: 3 });
  expect(database.prepare("select 1 from sqlite_schema where name = 'half'").get()).toBeUndefined();
});

test("a migration that throws leaves the version before it, and can be tried again", async () => {
  await using folder = await tempFolder();
  const broken: Migration = {
    name: "broken",
    up: ({ exec }) => {
      exec("create table half (x)");
      throw new Error("no further");
    },
  };
  await expect(open(folder.file("a.sqlite"), [...LOGGED, broken])).rejects.toThrow("no further");
  using database = await open(folder.file("a.sqlite"), [
    ...LOGGED,
    { name: "whole", sql: "create table half (x)" },
  ]);
  expect(versionIn(database)).toEqual({ version: 4 });
});

test("a migration that ends its own transaction is a programming error", async () => {
  await using folder = await tempFolder();
  const rash: Migration = { name: "rash", sql: "create table rash (x); commit" };
  await expect(open(folder.file("a.sqlite"), [rash])).rejects.toThrow('"rash" ended its own transaction');
});

test("rebuilding a table keeps the child rows that reference it", async () => {
  await using folder = await tempFolder();
  const family: Migration = {
    name: "family",
    sql: `create table parent (id integer primary key);
          create table child (parent integer not null references parent (id) on delete cascade);
          insert into parent values (1); insert into child values (1)`,
  };
  const rebuild: Migration = {
    name: "rebuild",
    sql: `create table renewed (id integer primary key, note text);
          insert into renewed (id) select id from parent;
          drop table parent; alter table renewed rename to parent`,
  };
  using database = await open(folder.file("a.sqlite"), [family, rebuild]);
  expect(database.prepare("select * from child").all()).toEqual([{ parent: 1 }]);
  const orphan = database.write(() => database.prepare("insert into child values (2)").run(), neverAborted);
  await expect(orphan).rejects.toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" });
});

test("a migration that leaves a row without its parent is rolled back", async () => {
  await using folder = await tempFolder();
  const family: Migration = {
    name: "family",
    sql: `create table parent (id integer primary key);
          create table child (parent integer not null references parent (id))`,
  };
  const orphan: Migration = { name: "orphan", sql: "insert into child values (7)" };
  await expect(open(folder.file("a.sqlite"), [family, orphan])).rejects.toMatchObject({
    code: "database-damaged",
    message: expect.stringMatching(/"orphan".*"child".*"parent"/),
  });
  using database = await open(folder.file("a.sqlite"), [family]);
  expect(database.prepare("select * from child").all()).toEqual([]);
});

test("a file of a newer version is refused and none of its bytes change", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  (await open(path))[Symbol.dispose]();
  const before = bytesOf(path);
  await expect(open(path, LOGGED.slice(0, 2))).rejects.toMatchObject({
    code: "database-newer",
    message: expect.stringContaining(path),
  });
  expect(bytesOf(path)).toEqual(before);
});

test("a process that has a file open writes nothing more once a newer version has migrated it", async () => {
  await using folder = await tempFolder();
  const path = folder.file("shared.sqlite");
  using older = await open(path, LOGGED.slice(0, 2));
  await older.write(() => undefined, neverAborted);
  using _newer = await open(path, LOGGED);
  let isRun = false;
  const writing = older.write(() => {
    isRun = true;
  }, neverAborted);
  await expect(writing).rejects.toMatchObject({
    code: "database-newer",
    message: `${path} has schema version ${LOGGED.length}; this program knows only 2`,
  });
  expect(isRun).toBe(false);
});

test("a newer version that exists only in the write-ahead log of a killed process is detected", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await using child = startChild(CHILD, "crash-in-migration", { path });
  expect(await child.ended).toBe("SIGKILL");
  const before = bytesOf(path);
  expect(before).toHaveLength(2);
  await expect(open(path, LOGGED.slice(0, 2))).rejects.toMatchObject({ code: "database-newer" });
  expect(bytesOf(path)).toEqual(before);
});

test("a file of another program is refused and none of its bytes change", async () => {
  await using folder = await tempFolder();
  const statements = [
    "create table theirs (x)",
    "pragma application_id = 7",
    "pragma user_version = 1",
    "pragma journal_mode = wal; create table theirs (x); pragma application_id = 7",
  ];
  for (const [index, sql] of statements.entries()) {
    const path = folder.file(`${index}.sqlite`);
    new Sqlite(path).exec(sql).close();
    const before = bytesOf(path);
    await expect(open(path), sql).rejects.toMatchObject({ code: "database-foreign" });
    expect(bytesOf(path), sql).toEqual(before);
  }
});

test("an empty file, as a crash during creation leaves it, is treated as new", async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file("a.sqlite"), "");
  using database = await open(folder.file("a.sqlite"));
  expect(versionIn(database)).toEqual({ version: 3 });
});
