import { execFile } from "node:child_process";
import { access, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { BOARD_SCHEMA_PREFIX, boardPath, boardSchemaName } from "../../src/board/board-slug.ts";
import { type BoardStore, openBoardStore } from "../../src/board/board-store.ts";
import { listBoardSchemas } from "../../src/board/database/postgres-schemas.ts";
import type { Task } from "../../src/board/task.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempHome } from "../support/hermes.ts";
import { openOwnDatabase } from "../support/own-database.ts";
import { describeWith } from "../support/services.ts";

const Sqlite = await loadSqlite();

const run = promisify(execFile);
const LONG = { timeout: 600_000 };
const WAIT = { timeout: 150_000, interval: 20 };
const BOARDS = ["default", "ops"] as const;

interface RenameRow {
  readonly name: string;
  readonly boards: readonly { readonly board: string; readonly tasks: number }[];
  readonly skipped_boards: readonly unknown[];
}

/** A home with the profiles a and other, and boards that each have a task of both. */
async function openHome(databaseUrl = "") {
  const home = await tempHome();
  const env: Record<string, string> = databaseUrl === "" ? {} : { HERMES_KANBAN_DATABASE_URL: databaseUrl };
  const hermes = (args: readonly string[], killWhen?: (signal: AbortSignal) => Promise<void>) =>
    home.hermes(args, { env, killWhen });
  for (const name of ["a", "other"]) await hermes(["profile", "create", name]);
  const at = async <Result>(slug: string, work: (store: BoardStore) => Promise<Result>): Promise<Result> => {
    await using store = await openBoardStore(
      { root: home.path, databaseUrl, slug, create: true },
      {},
      neverAborted,
    );
    return await work(store);
  };
  const add = (slug: string, assignee: string): Promise<Task> =>
    at(slug, async (store) => {
      const operator = store.as({ kind: "operator", name: "alice" });
      return (await operator.create({ title: `for ${assignee}`, assignee }, neverAborted)).task;
    });
  const tasks: Record<string, Task> = {};
  for (const slug of BOARDS) {
    tasks[slug] = await add(slug, "a");
    await add(slug, "other");
  }
  return {
    ...home,
    hermes,
    at,
    add,
    idOn: (slug: (typeof BOARDS)[number]) => tasks[slug]?.id ?? "",
    assignees: (slug: string) =>
      at(slug, async (store) => {
        const { tasks } = await store.list({ order: "created" }, neverAborted);
        return tasks.map(({ assignee }) => assignee);
      }),
    profiles: async () =>
      (await readdir(join(home.path, "profiles"))).filter((name) => !name.startsWith(".")).toSorted(),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}
type Home = Awaited<ReturnType<typeof openHome>>;

const journal = (home: Home): string => join(home.path, "profiles", ".renaming.json");
const commandsIn = (text: string): string[][] =>
  [...text.matchAll(/`hermes ([^`]+)`/g)].map(([, words = ""]) => words.split(" "));
const commandIn = (text: string): string[] => commandsIn(text)[0] ?? [];

/** Behaviour on both databases. `stall` suspends a writer of the board ops in the middle of its transaction. */
function renameContract(
  openDatabase: () => Promise<AsyncDisposable & { readonly url: string }>,
  stall: (home: Home, url: string) => Promise<AsyncDisposable>,
): void {
  it(
    "board G47: a renamed profile keeps its tasks on every board, and tasks of other profiles do not change",
    LONG,
    async () => {
      await using database = await openDatabase();
      await using home = await openHome(database.url);
      const renamed = await home.hermes(["profile", "rename", "a", "b", "--json"]);
      expect(renamed.json<RenameRow>()).toMatchObject({
        name: "b",
        boards: BOARDS.map((board) => ({ board, tasks: 1 })),
        skipped_boards: [],
      });
      for (const slug of BOARDS) {
        expect(await home.assignees(slug)).toEqual(["b", "other"]);
        const events = await home.at(slug, (store) => store.events(0, undefined, neverAborted));
        expect(events.filter(({ kind }) => kind === "profile_renamed")).toHaveLength(1);
      }
      expect(await home.profiles()).toEqual(["b", "other"]);
      await expect(access(journal(home))).rejects.toThrow("ENOENT");
      expect((await home.hermes(["profile", "rename", "a", "b"])).stderr).toContain("no profile a");
    },
  );

  it(
    "board G47: a profile with a running task is neither renamed nor deleted, and after the suggested commands it does not start again",
    LONG,
    async () => {
      await using database = await openDatabase();
      await using home = await openHome(database.url);
      const id = home.idOn("ops");
      await home.hermes(["kanban", "--board", "ops", "claim", id]);
      for (const command of [
        ["rename", "a", "b"],
        ["delete", "a", "--yes"],
      ]) {
        const refused = await home.hermes(["profile", ...command]);
        expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
        expect(refused.stderr).toContain(`${id} on the board ops is running as a`);
      }
      expect(await home.profiles()).toEqual(["a", "other"]);
      for (const slug of BOARDS) expect(await home.assignees(slug)).toEqual(["a", "other"]);
      const refused = await home.hermes(["profile", "rename", "a", "b"]);
      for (const command of commandsIn(refused.stderr))
        expect((await home.hermes(command)).exitCode, command.join(" ")).toBe(0);
      const why = await home.hermes(["kanban", "--board", "ops", "why", id]);
      expect(why.stdout).toContain("It is on hold.");
      expect((await home.hermes(["profile", "rename", "a", "b"])).exitCode).toBe(0);
      for (const slug of BOARDS) expect(await home.assignees(slug)).toEqual(["b", "other"]);
    },
  );

  it(
    "board G47: a rename that is killed between two boards is reported by every later command and finished by repeating it",
    LONG,
    async () => {
      await using database = await openDatabase();
      await using home = await openHome(database.url);
      const stalled = await stall(home, database.url);
      try {
        const isBetweenBoards = () =>
          vi.waitFor(async () => expect(await home.assignees("default")).toEqual(["b", "other"]), WAIT);
        const killed = await home.hermes(["profile", "rename", "a", "b"], isBetweenBoards);
        expect(killed.exitCode).toBe(null);
      } finally {
        await stalled[Symbol.asyncDispose]();
      }
      expect(await home.assignees("ops")).toEqual(["a", "other"]);
      expect(await home.profiles()).toEqual(["a", "other"]);

      const listed = await home.hermes(["profile", "list"]);
      expect(listed).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("but not finished") });
      for (const command of [
        ["create", "b"],
        ["rename", "a", "c"],
        ["rename", "other", "b"],
        ["delete", "a", "--yes"],
      ]) {
        const refused = await home.hermes(["profile", ...command]);
        expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("profile rename a b") });
      }
      expect((await home.hermes(commandIn(listed.stderr))).exitCode).toBe(0);
      for (const slug of BOARDS) expect(await home.assignees(slug)).toEqual(["b", "other"]);
      expect(await home.profiles()).toEqual(["b", "other"]);
      expect((await home.hermes(["profile", "create", "a"])).exitCode).toBe(0);
    },
  );

  it(
    "board G47: deleting a profile lists its open tasks, and the suggested command reassigns them",
    LONG,
    async () => {
      await using database = await openDatabase();
      await using home = await openHome(database.url);
      for (let more = 0; more < 6; more++) await home.add("default", "a");
      const asked = await home.hermes(["profile", "delete", "a"]);
      expect(asked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("needs confirmation") });
      const deleted = await home.hermes(["profile", "delete", "a", "--yes", "--json"]);
      const { tasks_left } = deleted.json<{ tasks_left: readonly { ids: string[]; reassign: string }[] }>();
      expect(tasks_left).toMatchObject([
        { board: "default", count: 7, ids: expect.arrayContaining([home.idOn("default")]) },
        { board: "ops", count: 1, ids: [home.idOn("ops")] },
      ]);
      expect(tasks_left[0]?.ids).toHaveLength(5);
      const [, ...words] = (tasks_left[1]?.reassign ?? "").replace("PROFILE", "other").split(" ");
      expect((await home.hermes(words)).exitCode).toBe(0);
      expect(await home.assignees("ops")).toEqual(["other", "other"]);
      const said = await home.hermes(["profile", "delete", "other", "--yes"]);
      expect(said.stderr).toContain("The board ops still has 2 open tasks of other (");
    },
  );
}

describe("profiles and boards in SQLite", () => {
  renameContract(
    async () => ({ url: "", [Symbol.asyncDispose]: async () => undefined }),
    async (home) => {
      const at = async (sql: string): Promise<void> => {
        const connection = new Sqlite(boardPath(home.path, "ops"), { timeout: 150_000 });
        connection.exec(sql);
        connection.close();
      };
      await at(
        `create view endless as with recursive n(i) as (select 1 union all select i + 1 from n limit 1000000000000)
           select count(*) as i from n;
         create trigger stall before update of assignee on task begin select i from endless; end`,
      );
      return { [Symbol.asyncDispose]: () => at("drop trigger stall; drop view endless") };
    },
  );

  /**
   * Blocks a rename after it has moved the profile: `active_profile`, which it reads next, becomes a pipe. Returns the path of
   * the pipe.
   */
  async function holdAfterMove(home: Home): Promise<string> {
    const pipe = join(home.path, "active_profile");
    await run("mkfifo", [pipe]);
    return pipe;
  }
  const isMoved = (home: Home) => async (): Promise<void> =>
    vi.waitFor(async () => expect(await home.profiles()).toEqual(["b", "other"]), WAIT);
  const RENAME = ["-p", "default", "profile", "rename", "a", "b"];

  it(
    "board G47: a rename that is killed after the profile was moved is finished by the same command, including the active profile",
    LONG,
    async () => {
      await using home = await openHome();
      const pipe = await holdAfterMove(home);
      const killed = await home.hermes(RENAME, isMoved(home));
      expect(killed.exitCode).toBe(null);
      await rm(pipe);
      await writeFile(pipe, "a\n");
      await home.add("ops", "a");
      const refused = await home.hermes(["profile", "create", "a"]);
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("profile rename a b") });
      expect((await home.hermes(["-p", "default", "doctor"])).stdout).toContain(
        "Finish it with `hermes profile rename a b`",
      );
      const finished = await home.hermes(["profile", "rename", "a", "b", "--json"]);
      expect(finished.json()).toMatchObject({ name: "b", active: true });
      expect(await home.assignees("ops")).toEqual(["b", "other", "b"]);
      await expect(access(journal(home))).rejects.toThrow("ENOENT");
      const again = await home.hermes(["profile", "rename", "a", "b"]);
      expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no profile a") });
    },
  );

  it(
    "board G47: a task that is created for the old name during a rename gets the new name",
    LONG,
    async () => {
      await using home = await openHome();
      const pipe = await holdAfterMove(home);
      const renaming = home.hermes(RENAME);
      await isMoved(home)();
      await home.add("ops", "a");
      await writeFile(pipe, "");
      expect((await renaming).exitCode).toBe(0);
      expect(await home.assignees("ops")).toEqual(["b", "other", "b"]);
    },
  );

  it(
    "board G47: an unfinished rename of a profile that no longer exists is dropped, and the name is free again",
    LONG,
    async () => {
      await using home = await openHome();
      await writeFile(journal(home), JSON.stringify({ from: "x", to: "y", id: "0123456789abcdef" }));
      const given = await home.hermes(["profile", "rename", "x", "y"]);
      expect(given).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("was abandoned") });
      expect((await home.hermes(["profile", "create", "x"])).exitCode).toBe(0);
      await writeFile(journal(home), "{");
      const unread = await home.hermes(["profile", "rename", "a", "b"]);
      expect(unread).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(journal(home)) });
    },
  );

  it(
    "board G47: a board that cannot be opened prevents a rename, unless the board is to be skipped",
    LONG,
    async () => {
      await using home = await openHome();
      const damaged = boardPath(home.path, "ops");
      await writeFile(damaged, "this is not a database, and never was one".repeat(200));
      for (const command of [
        ["rename", "a", "b"],
        ["delete", "a", "--yes"],
      ]) {
        const refused = await home.hermes(["profile", ...command]);
        expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
        expect(refused.stderr).toMatch(
          /Nothing was (renamed|deleted): the board ops cannot be used: .*--skip-boards/s,
        );
      }
      expect(await home.profiles()).toEqual(["a", "other"]);
      expect(await home.assignees("default")).toEqual(["a", "other"]);
      await expect(access(journal(home))).rejects.toThrow("ENOENT");

      const renamed = await home.hermes(["profile", "rename", "a", "b", "--skip-boards"]);
      expect(renamed).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining("Not done: the board ops"),
      });
      expect(await home.assignees("default")).toEqual(["b", "other"]);
      const deleted = await home.hermes(["profile", "delete", "b", "--yes", "--skip-boards", "--json"]);
      expect(deleted.json()).toMatchObject({
        tasks_left: [{ board: "default", count: 1 }],
        skipped_boards: [{ board: "ops" }],
      });
    },
  );

  it(
    "board G47: an unreachable database server of another profile prevents a rename, unless boards are to be skipped, and is named without its password",
    LONG,
    async () => {
      await using home = await openHome();
      const url = "postgres://someone:hidden-word@127.0.0.1:1/nowhere";
      await writeFile(join(home.path, "profiles", "other", ".env"), `HERMES_KANBAN_DATABASE_URL=${url}\n`);
      const refused = await home.hermes(["profile", "rename", "a", "b"]);
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("127.0.0.1:1/nowhere") });
      expect(refused.stderr).not.toContain("hidden-word");
      expect(await home.profiles()).toEqual(["a", "other"]);
      const renamed = await home.hermes(["profile", "rename", "a", "b", "--skip-boards", "--json"]);
      expect(renamed.json<RenameRow>()).toMatchObject({
        boards: BOARDS.map((board) => ({ board, tasks: 1 })),
        skipped_boards: [{ board: null, error: expect.stringContaining("127.0.0.1:1") }],
      });
    },
  );

  it("board G47: settings that still name a renamed or deleted profile are reported", LONG, async () => {
    await using home = await tempHome();
    for (const name of ["a", "other"]) await home.hermes(["profile", "create", name]);
    await writeFile(join(home.path, "config.yaml"), "kanban:\n  default_assignee: A\n");
    const lists = "kanban:\n  dispatch_profiles: [b]\n  max_in_progress_per_profile: { b: 2 }\n";
    await writeFile(join(home.path, "profiles", "other", "config.yaml"), lists);
    const renamed = await home.hermes(["profile", "rename", "a", "b"]);
    expect(renamed.stderr).toContain("The setting kanban.default_assignee of default still names a");
    expect(renamed.stderr).not.toContain("dispatch_profiles");
    const deleted = await home.hermes(["profile", "delete", "b", "--yes", "--json"]);
    expect(deleted.json()).toMatchObject({
      settings_left: [
        { profile: "other", key: "kanban.dispatch_profiles" },
        { profile: "other", key: "kanban.max_in_progress_per_profile" },
      ],
    });
  });

  it("creates no board where none exists", LONG, async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "a"]);
    const renamed = await home.hermes(["profile", "rename", "a", "b", "--json"]);
    expect(renamed.json()).toMatchObject({ name: "b", boards: [] });
    expect((await readdir(home.path)).filter((name) => /board|kanban/.test(name))).toEqual([]);
    const refused = await home.hermes(["profile", "rename", "b", "none"]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('means "unassigned"') });
  });
});

describeWith("postgres", "profiles and boards in PostgreSQL", (service) => {
  renameContract(
    () => openOwnDatabase(service.url),
    async (_home, url) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query("begin");
      await client.query(`lock table "${boardSchemaName("ops")}".dispatch_share in exclusive mode`);
      return { [Symbol.asyncDispose]: () => client.end() };
    },
  );

  it("creates no board where none exists", LONG, async () => {
    await using database = await openOwnDatabase(service.url);
    await using home = await tempHome();
    const env = { HERMES_KANBAN_DATABASE_URL: database.url };
    await home.hermes(["profile", "create", "a"]);
    const renamed = await home.hermes(["profile", "rename", "a", "b", "--json"], { env });
    expect(renamed.json()).toMatchObject({ name: "b", boards: [] });
    expect(await listBoardSchemas(database.url, BOARD_SCHEMA_PREFIX, neverAborted)).toEqual([]);
  });
});
