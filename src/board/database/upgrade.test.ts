import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { openPostgresLab } from "../../../test/support/board-lab.ts";
import { describeWith } from "../../../test/support/services.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { openDatabase } from "../../lib/sqlite/database.ts";
import { loadSqlite } from "../../lib/sqlite/sqlite.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { neverAborted } from "../../lib/time/never-aborted.ts";
import { boardPath, boardSchemaName } from "../board-slug.ts";
import { type BoardStore, openBoardStore } from "../board-store.ts";
import { boardMigrations, sqliteMigrations } from "./board-schema.ts";
import { toPostgres, toSqlite } from "./dialect.ts";

const Sqlite = await loadSqlite();
const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/boards/${name}.sql`, import.meta.url), "utf8");
/** The steps that are functions do not change a schema that the other steps have created. */
const steps = boardMigrations.map((step) => ("sql" in step ? step.sql : ""));

/** Every schema that a board ever had: those from before the first step was frozen, then one per step. */
const SHAPES: readonly {
  readonly name: string;
  readonly version: number;
  readonly sql: readonly string[];
}[] = [
  { name: "with the first schema", version: 1, sql: [fixture("first")] },
  { name: "with the first schema, dispatched", version: 1, sql: [fixture("first"), fixture("dispatching")] },
  {
    name: "with the first schema, opened by version 5",
    version: 5,
    sql: [fixture("first"), ...steps.slice(1, 5)],
  },
  { name: "with value lists in its checks", version: 1, sql: [fixture("lists")] },
  ...steps.map((_, index) => ({
    name: `of version ${index + 1}`,
    version: index + 1,
    sql: steps.slice(0, index + 1),
  })),
];

/** Task 4 and run 3 are deleted again, so that the test can check that their numbers are not reused. */
function rows(shape: string): string {
  const archived = shape.includes("archived_at") ? ["archived_at,", "9,"] : ["", ""];
  return `
    insert into board (id, slug, name, created_at, events_kept_from) values (1, 'default', 'Mine', 1, 100);
    update counter set value = 100 where name = 'event';
    insert into task (seq, id, title, status, created_by, created_at, updated_at, ${archived[0]} current_run_id) values
      (1, 't_one', 'one', 'done', 'alice', 1, 1, ${archived[1] === "" ? "" : "null,"} null),
      (2, 't_two', 'two', 'archived', 'alice', 1, 9, ${archived[1]} null),
      (3, 't_three', 'three', 'ready', 'alice', 1, 1, ${archived[1] === "" ? "" : "null,"} null),
      (4, 't_four', 'four', 'todo', 'alice', 1, 1, ${archived[1] === "" ? "" : "null,"} null);
    insert into link (parent_id, child_id) values ('t_one', 't_three');
    insert into run (id, task_id, source_status, lease_token, lease_ms, lease_until, started_at, ended_at, outcome) values
      (1, 't_one', 'ready', 'x', 1, 0, 1, 2, 'crashed'), (2, 't_one', 'ready', 'y', 1, 0, 3, 4, 'completed'),
      (3, 't_four', 'ready', 'z', 1, 0, 3, 4, 'crashed');
    insert into comment (id, task_id, author, body, created_at) values (1, 't_three', 'alice', 'soon', 1);
    delete from task where id = 't_four';`;
}

async function expectIntact(store: BoardStore, nextRun: number): Promise<void> {
  expect(await store.check(neverAborted)).toEqual([]);
  const { tasks } = await store.list({ includeArchived: true }, neverAborted);
  expect(tasks.map(({ id, status, archived_at }) => [id, status, archived_at]).toSorted()).toEqual([
    ["t_one", "done", null],
    ["t_three", "ready", null],
    ["t_two", "archived", 9],
  ]);
  const { comments, parents } = await store.show("t_three", neverAborted);
  expect(comments.map(({ body }) => body)).toEqual(["soon"]);
  expect(parents).toHaveLength(1);
  expect((await store.show("t_one", neverAborted)).runs.map(({ outcome }) => outcome).toSorted()).toEqual([
    "completed",
    "crashed",
  ]);
  const operator = store.as({ kind: "operator", name: "alice" });
  expect(await operator.create({ title: "five" }, neverAborted)).toMatchObject({ task: { seq: 5 } });
  const { claimed } = await operator.claim(
    { taskIds: ["t_three"], from: "ready", leaseMs: 60_000, hostId: "here" },
    neverAborted,
  );
  expect(claimed.map(({ run }) => run.id)).toEqual([nextRun]);
}

describe("a board in a file", () => {
  test.each(SHAPES)("$name is upgraded without loss, and an older build then refuses it", async (shape) => {
    await using folder = await tempFolder();
    const path = boardPath(folder.path, "default");
    mkdirSync(dirname(path), { recursive: true });
    const sql = shape.sql.map(toSqlite);
    const raw = new Sqlite(path);
    for (const step of sql) raw.exec(step);
    raw.pragma("foreign_keys = ON");
    raw.exec(rows(sql.join()));
    raw.pragma(`application_id = ${0x48524d53}`);
    raw.pragma(`user_version = ${shape.version}`);
    raw.close();
    const location = { root: folder.path, databaseUrl: "", slug: "default" };
    await using store = await openBoardStore(location, {}, neverAborted);
    await expectIntact(store, sql.join().includes("runs_purged_to") ? 3 : 4);
    const older = sqliteMigrations().slice(0, -1);
    await expect(
      openDatabase(path, { migrations: older, synchronous: "FULL", clock: systemClock }, neverAborted),
    ).rejects.toMatchObject({
      code: "database-newer",
      message: expect.stringContaining(`this program knows only ${older.length}`),
    });
  });

  test("a check names missing and different tables and indexes", async () => {
    await using folder = await tempFolder();
    const location = { root: folder.path, databaseUrl: "", slug: "default" };
    await using store = await openBoardStore(location, {}, neverAborted);
    new Sqlite(boardPath(folder.path, "default"))
      .exec(
        "drop index task_by_key; drop index link_by_child; create index link_by_child on link (child_id); alter table comment add column mood text",
      )
      .close();
    expect(await store.check(neverAborted)).toEqual([
      '"task_by_key" is missing',
      '"link_by_child" differs from the expected definition',
      '"comment" differs from the expected definition',
    ]);
  });
});

describeWith("postgres", "a board on PostgreSQL", ({ url }) => {
  test.each(SHAPES)("$name is upgraded without loss", async (shape) => {
    await using lab = await openPostgresLab(url);
    const schema = boardSchemaName(lab.location.slug);
    await lab.raw(`drop schema "${schema}" cascade; create schema "${schema}"`);
    await lab.raw("create table hermes_migration (number integer primary key, name text not null)");
    await lab.raw(
      "create function hermes_now() returns bigint language sql stable as 'select cast(extract(epoch from statement_timestamp()) * 1000 as bigint)'",
    );
    for (const step of shape.sql) await lab.raw(toPostgres(step).text);
    await lab.raw(
      `insert into hermes_migration select n, 'step' from generate_series(1, ${shape.version}) n`,
    );
    await lab.raw(rows(shape.sql.join()));
    for (const [table, column] of [
      ["task", "seq"],
      ["run", "id"],
      ["comment", "id"],
    ] as const) {
      const last = { task: 4, run: 3, comment: 1 }[table];
      await lab.raw(`select setval(pg_get_serial_sequence('${table}', '${column}'), ${last})`);
    }
    await using store = await lab.open();
    await expectIntact(store, 4);
  });

  test("a check names missing and different tables and indexes", async () => {
    await using lab = await openPostgresLab(url);
    await using store = await lab.open();
    expect(await store.check(neverAborted)).toEqual([]);
    await lab.raw(
      "drop index task_by_key; drop index link_by_child; create index link_by_child on link (child_id); alter table comment add column mood text; alter table task alter column title drop not null",
    );
    expect(await store.check(neverAborted)).toEqual(
      expect.arrayContaining([
        '"task_by_key" is missing',
        '"link_by_child" differs from the expected definition',
        '"comment" differs from the expected definition',
        '"task" differs from the expected definition',
      ]),
    );
    expect(await store.check(neverAborted)).toHaveLength(4);
  });
});
