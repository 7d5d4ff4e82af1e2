import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { startChild } from "../../../test/support/child.ts";
import { BLOBS } from "../../../test/support/storage-fixtures.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../time/clock.ts";
import { neverAborted } from "../time/never-aborted.ts";
import { checkIntegrity } from "./check-integrity.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Migration } from "./migrate.ts";
import { loadSqlite } from "./sqlite.ts";

const Sqlite = await loadSqlite();

const CHILD = new URL("../../../test/support/storage-child.ts", import.meta.url);
const PAGE_BYTES = 4_096;

function open(path: string, quickCheck = false, migrations: readonly Migration[] = BLOBS): Promise<Database> {
  return openDatabase(
    path,
    { migrations, synchronous: "NORMAL", clock: systemClock, quickCheck },
    neverAborted,
  );
}

/** Creates an intact file of many pages and closes it. */
async function makeFile(path: string): Promise<void> {
  using database = await open(path);
  await database.write(() => {
    for (let row = 0; row < 500; row++) database.prepare("insert into blob values (randomblob(300))").run();
  }, neverAborted);
}

function overwrite(path: string, offset: number, length: number): void {
  const file = openSync(path, "r+");
  writeSync(file, new Uint8Array(length).fill(0xa5), 0, length, offset);
  closeSync(file);
}

function hashOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

test.each<[string, (path: string) => void]>([
  ["is not a database", (path) => writeFileSync(path, "notes to myself\n".repeat(1_000))],
  ["is truncated within its first page", (path) => truncateSync(path, 700)],
  ["is truncated after some pages", (path) => truncateSync(path, 5 * PAGE_BYTES)],
  ["has a broken header", (path) => overwrite(path, 0, 16)],
  ["has a broken schema", (path) => overwrite(path, 100, PAGE_BYTES - 100)],
])("a file that %s is refused by name and not changed", async (_, damage) => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await makeFile(path);
  damage(path);
  const before = hashOf(path);
  await expect(open(path)).rejects.toMatchObject({
    code: "database-damaged",
    message: expect.stringContaining(path),
  });
  expect(hashOf(path)).toBe(before);
});

test("the quick check finds a broken page deep in the file and does not change the file", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await makeFile(path);
  (await open(path, true))[Symbol.dispose]();
  overwrite(path, 20 * PAGE_BYTES, PAGE_BYTES);
  const before = hashOf(path);
  await expect(open(path, true)).rejects.toMatchObject({
    code: "database-damaged",
    message: expect.stringContaining(path),
  });
  expect(hashOf(path)).toBe(before);
});

test("a broken page found by a query is a known failure, and a finding of the full check", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await makeFile(path);
  overwrite(path, 20 * PAGE_BYTES, PAGE_BYTES);
  using database = await open(path);
  expect(() => database.prepare("select sum(length(content)) from blob").get()).toThrowError(
    expect.objectContaining({ code: "database-damaged" }),
  );
  expect(checkIntegrity(database).length).toBeGreaterThan(0);
});

test("an intact file has no findings; a row without its parent and an incomplete index are findings", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  const family: Migration = {
    name: "family",
    sql: `create table parent (id integer primary key, name text);
          create index parent_name on parent (name);
          create table child (parent integer references parent (id))`,
  };
  {
    using database = await open(path, false, [family]);
    await database.write(() => database.prepare("insert into parent values (1, 'a')").run(), neverAborted);
    expect(checkIntegrity(database)).toEqual([]);
  }
  const corruptor = new Sqlite(path).unsafeMode(); // required for corrupting the schema
  corruptor.exec("pragma foreign_keys = off; insert into child values (42); pragma writable_schema = on");
  corruptor.exec("update sqlite_schema set sql = replace(sql, '(name)', '(id)') where name = 'parent_name'");
  corruptor.close();
  using database = await open(path, false, [family]);
  expect(checkIntegrity(database)).toEqual([
    expect.stringContaining("parent_name"),
    'row 1 of "child" has no parent in "parent"',
  ]);
});

test("an unfinished transaction of a killed process is rolled back", async () => {
  await using folder = await tempFolder();
  const path = folder.file("a.sqlite");
  await makeFile(path);
  await using child = startChild(CHILD, "leave-hot-journal", { path });
  expect(await child.ended).toBe("SIGKILL");
  expect(readFileSync(`${path}-journal`).length).toBeGreaterThan(0);
  using database = await open(path, true);
  expect(database.prepare("select count(*) as rows from blob").get()).toEqual({ rows: 500 });
  expect(checkIntegrity(database)).toEqual([]);
});
