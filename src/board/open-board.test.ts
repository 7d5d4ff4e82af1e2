import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeOf, openPostgresLab, openSqliteLab } from "../../test/support/board-lab.ts";
import { describeWith } from "../../test/support/services.ts";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { AppError } from "../lib/errors.ts";
import { loadSqlite } from "../lib/sqlite/sqlite.ts";
import { neverAborted } from "../lib/time/never-aborted.ts";
import { boardFolder, boardPath, boardSchemaName, parseBoardSlug } from "./board-slug.ts";
import { openBoardStore } from "./board-store.ts";
import { boardMigrations } from "./database/board-schema.ts";
import { postgresError } from "./database/postgres-error.ts";
import { boardFolders } from "./workspaces/board-folders.ts";

const Sqlite = await loadSqlite();

describe("the location of a board", () => {
  test("a board keeps its identity under another path to its home, and another board has another identity", async () => {
    await using folder = await tempFolder();
    mkdirSync(folder.file("home"));
    symlinkSync(folder.file("home"), folder.file("link"));
    const identities: string[] = [];
    for (const [root, slug] of [
      ["home", "a"],
      ["link", "a"],
      ["home", "b"],
    ] as const) {
      const location = { root: folder.file(root), databaseUrl: "", slug, create: true };
      await using store = await openBoardStore(location, {}, neverAborted);
      identities.push(store.identity);
    }
    expect(identities[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(identities[1]).toBe(identities[0]);
    expect(identities[2]).not.toBe(identities[0]);
  });

  test("A1: the default board is in the root home and always exists, others are below kanban/boards", async () => {
    await using folder = await tempFolder();
    const location = { root: folder.path, databaseUrl: "", slug: " Default " };
    await using store = await openBoardStore(location, {}, neverAborted);
    expect(await store.board(neverAborted)).toMatchObject({
      slug: "default",
      name: "Default",
      paused: false,
    });
    await using other = await openBoardStore(
      { ...location, slug: "my-team_1", create: true },
      {},
      neverAborted,
    );
    expect((await other.board(neverAborted)).name).toBe("My Team 1");
    expect(existsSync(folder.file("board.sqlite"))).toBe(true);
    expect(existsSync(folder.file("kanban/boards/my-team_1/board.sqlite"))).toBe(true);
    await using again = await openBoardStore({ ...location, slug: "my-team_1" }, {}, neverAborted);
    expect(again.slug).toBe("my-team_1");
  });

  test("a board whose file was removed is reported, and can be restored or created anew", async () => {
    await using folder = await tempFolder();
    for (const slug of ["default", "ops"]) {
      const location = { root: folder.path, databaseUrl: "", slug };
      const path = boardPath(folder.path, slug);
      await (await openBoardStore({ ...location, create: true }, {}, neverAborted))[Symbol.asyncDispose]();
      const { attachments } = boardFolders(folder.path, slug);
      mkdirSync(join(attachments, "t_1"), { recursive: true });
      renameSync(path, `${path}.backup`);
      expect(await openBoardStore(location, {}, neverAborted).catch((error: unknown) => error)).toMatchObject(
        {
          code: "database-damaged",
          message: expect.stringContaining(`${path} is missing`),
          hint: expect.stringMatching(new RegExp(`backup.*\`hermes kanban boards create ${slug}\``)),
        },
      );
      expect(existsSync(path)).toBe(false);
      renameSync(`${path}.backup`, path);
      await (await openBoardStore(location, {}, neverAborted))[Symbol.asyncDispose]();
      rmSync(path);
      await using anew = await openBoardStore({ ...location, create: true }, {}, neverAborted);
      expect((await anew.list({}, neverAborted)).tasks).toEqual([]);
    }
  });

  test("an unknown board is refused and not created", async () => {
    await using folder = await tempFolder();
    const location = { root: folder.path, databaseUrl: "", slug: "nowhere" };
    expect(await codeOf(openBoardStore(location, {}, neverAborted))).toBe("board-not-found");
    expect(existsSync(boardFolder(folder.path, "nowhere"))).toBe(false);
  });

  const shown = ["", " ", "-a", "_a", "a b", "a/b", "..", "../x", "a.b", "ä", "a\0", 'a"b', "a;b"];
  test.each([
    ...shown.map((slug) => [JSON.stringify(slug), slug] as const),
    ["65 letters", "x".repeat(65)] as const,
    ["a million letters", "x".repeat(1e6)] as const,
  ])("A1: the slug %s is refused", async (_, slug) => {
    await using folder = await tempFolder();
    const location = { root: folder.path, databaseUrl: "", slug, create: true };
    const error = await openBoardStore(location, {}, neverAborted).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "board-slug-invalid" });
    expect((error as AppError).message.length).toBeLessThan(200);
  });

  test("every long slug gets a distinct schema name", () => {
    const slugs = ["a", "a-b", "a_b", "x".repeat(49), "x".repeat(50), "x".repeat(64), `${"x".repeat(63)}y`];
    const names = slugs.map((slug) => boardSchemaName(parseBoardSlug(slug)));
    expect(new Set(names).size).toBe(slugs.length);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(63);
  });

  test.each([
    ["garbage", "database-damaged", (path: string) => writeFileSync(path, Buffer.alloc(8_192, 7))],
    [
      "a newer board",
      "database-newer",
      (path: string) => runSql(path, "pragma application_id = 1213353299; pragma user_version = 99"),
    ],
    ["another program's file", "database-foreign", (path: string) => runSql(path, "create table x (y)")],
    ["a folder", "database-unavailable", (path: string) => void mkdirSync(path)],
  ])(
    "opening a file that is %s fails with its error code and leaves the file unchanged",
    async (_, code, prepare) => {
      await using folder = await tempFolder();
      const path = boardPath(folder.path, "default");
      prepare(path);
      const before = code === "database-unavailable" ? "" : readFileSync(path);
      expect(
        await codeOf(
          openBoardStore({ root: folder.path, databaseUrl: "", slug: "default" }, {}, neverAborted),
        ),
      ).toBe(code);
      if (code !== "database-unavailable") expect(readFileSync(path)).toEqual(before);
    },
  );

  test("a page damaged on disk is reported by a check", async () => {
    await using lab = await openSqliteLab();
    const path = boardPath(lab.location.root, lab.location.slug);
    {
      await using store = await lab.open();
      const operator = store.as({ kind: "operator", name: "o" });
      for (let n = 0; n < 50; n++)
        await operator.create({ title: `n${n}`, body: "x".repeat(2_000) }, neverAborted);
    }
    const bytes = readFileSync(path);
    bytes.fill(0xee, Math.floor(bytes.length * 0.7), Math.floor(bytes.length * 0.8));
    writeFileSync(path, bytes);
    await using store = await lab.open();
    const findings = await store.check(neverAborted).catch((error: AppError) => [error.code]);
    expect(findings.length).toBeGreaterThan(0);
  });
});

function runSql(path: string, sql: string): void {
  const connection = new Sqlite(path);
  connection.exec(sql);
  connection.close();
}

describe("errors of PostgreSQL", () => {
  test.each([
    ["53100", "database-unavailable"],
    ["25006", "database-unavailable"],
    ["XX001", "database-damaged"],
    ["55P03", "database-busy"],
    ["57P01", "database-unavailable"],
    ["ECONNRESET", "database-unavailable"],
  ])("%s becomes %s", (code, appCode) => {
    const error = postgresError(Object.assign(new Error("said"), { code }), "here");
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: appCode, message: "here: said" });
  });

  test("an unknown error is returned unchanged", () => {
    const error = Object.assign(new Error("syntax"), { code: "42601" });
    expect(postgresError(error, "here")).toBe(error);
  });
});

describeWith("postgres", "a PostgreSQL server", ({ url }) => {
  const open = (databaseUrl: string, slug: string, create = true) =>
    openBoardStore({ root: "/nowhere", databaseUrl, slug, create }, {}, neverAborted);

  test("an unknown board is refused and not created", async () => {
    await using lab = await openPostgresLab(url);
    const slug = `${lab.location.slug}-not`;
    expect(await codeOf(open(url, slug, false))).toBe("board-not-found");
    const schemas = await lab.raw(`select 1 from pg_namespace where nspname = '${boardSchemaName(slug)}'`);
    expect(schemas).toEqual([]);
  });

  test("an unreachable server or a failed login is reported without the password", async () => {
    const away = new URL(url);
    away.port = "1";
    const locked = new URL(url);
    locked.password = "wrong-secret";
    const missing = new URL(url);
    missing.pathname = "/no_such_database";
    for (const address of [away, locked, missing]) {
      const error = await open(address.href, "x").catch((error: unknown) => error);
      expect(error).toMatchObject({ code: "database-unavailable" });
      expect(JSON.stringify([(error as AppError).message, (error as AppError).hint])).not.toContain(
        address.password,
      );
    }
    for (const address of ["not an address", "mysql://x/y"])
      expect(await codeOf(open(address, "x"))).toBe("database-unavailable");
  });

  test("a read-only server can be read, and a write fails with database-unavailable", async () => {
    await using lab = await openPostgresLab(url);
    const reading = `${url}?options=${encodeURIComponent("-c default_transaction_read_only=on")}`;
    await using store = await open(reading, lab.location.slug);
    expect((await store.list({}, neverAborted)).tasks).toEqual([]);
    const created = store.as({ kind: "operator", name: "alice" }).create({ title: "a" }, neverAborted);
    expect(await codeOf(created)).toBe("database-unavailable");
  });

  test("a newer or foreign schema is refused and left unchanged", async () => {
    await using lab = await openPostgresLab(url);
    await lab.raw("insert into hermes_migration values (99, 'future')");
    expect(await codeOf(open(url, lab.location.slug))).toBe("database-newer");
    await lab.raw("drop table hermes_migration");
    expect(await codeOf(open(url, lab.location.slug))).toBe("database-foreign");
  });

  test("sixteen connections that open a new board concurrently create it only once", async () => {
    await using lab = await openPostgresLab(url);
    await lab.raw(`drop schema "${boardSchemaName(lab.location.slug)}" cascade`);
    const stores = await Promise.all(Array.from({ length: 16 }, () => lab.open({ connections: 1 })));
    const migrations = await lab.raw("select * from hermes_migration");
    expect(migrations).toHaveLength(boardMigrations.length);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("a board keeps its identity under another URL of its server", async () => {
    await using lab = await openPostgresLab(url);
    await using one = await lab.open();
    await using other = await open(`${url}?application_name=other`, lab.location.slug);
    expect(other.identity).toBe(one.identity);
    await using another = await openPostgresLab(url);
    await using stranger = await another.open();
    expect(stranger.identity).not.toBe(one.identity);
  });

  test("board G32: terminated connections are replaced, and closing leaves none open", async () => {
    await using lab = await openPostgresLab(url);
    const schema = boardSchemaName(lab.location.slug);
    const mine = `from pg_stat_activity where application_name = '${schema}'`;
    {
      await using store = await lab.open();
      const operator = store.as({ kind: "operator", name: "o" });
      await operator.create({ title: "a" }, neverAborted);
      expect((await lab.raw(`select pid ${mine}`)).length).toBeGreaterThan(0);
      await lab.raw(`select pg_terminate_backend(pid) ${mine}`);
      await expect
        .poll(() => codeOf(operator.create({ title: "b", idempotencyKey: "b" }, neverAborted)), {
          timeout: 60_000,
        })
        .toBeUndefined();
      expect(await store.check(neverAborted)).toEqual([]);
    }
    await expect.poll(() => lab.raw(`select pid ${mine}`), { timeout: 60_000 }).toEqual([]);
  });
});
