import { spawnSync } from "node:child_process";
import { access, mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { BoardEvent, Task } from "../../src/board/task.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { tempHome } from "../support/hermes.ts";

const Sqlite = await loadSqlite();

type Home = Awaited<ReturnType<typeof tempHome>>;
const LONG = { timeout: 600_000 };

async function kanban<Value = Task>(home: Home, args: readonly string[]): Promise<Value> {
  const run = await home.hermes(["kanban", ...args, "--json"]);
  expect(run.exitCode, `${args.join(" ")}\n${run.stderr}`).toBe(0);
  return run.json();
}

test("A1, D1: a board is created with all its fields, renamed, and given a folder", LONG, async () => {
  await using home = await tempHome();
  const said = ["--name", "The shop", "--description", "for sale", "--icon", "🛒", "--color", "#37f"];
  const repository = join(home.folder, "repository");
  spawnSync("git", ["init", "-q", repository]);
  const made = await kanban(home, ["boards", "create", "shop", ...said, "--default-workdir", repository]);
  const board = { slug: "shop", description: "for sale", icon: "🛒", color: "#37f" };
  expect(made).toMatchObject({ ...board, created: true, name: "The shop", default_workdir: repository });
  const again = await kanban(home, ["boards", "create", "shop", "--name", "Another"]);
  expect(again).toMatchObject({ ...board, created: false, name: "The shop" });
  expect(await kanban(home, ["boards", "rename", "shop", "Corner", "shop"])).toMatchObject({
    ...board,
    name: "Corner shop",
  });
  const away = await kanban(home, ["boards", "set-default-workdir", "shop"]);
  expect(away).toMatchObject({ name: "Corner shop", default_workdir: null });
  const wrong = await home.hermes(["kanban", "boards", "create", "half", "--default-workdir", "here"]);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("not an absolute path") });
  expect(await readdir(join(home.path, "kanban", "boards"))).toEqual(["shop"]);
});

test("an empty list says how to add a task, or that no task matches the filter", async () => {
  await using home = await tempHome();
  const list = async (...filter: string[]) => (await home.hermes(["kanban", "list", ...filter])).stdout;
  expect(await list()).toBe("No tasks yet. `hermes kanban create TITLE` adds one.\n");
  expect(await list("--mine")).toBe("No tasks match.\n");
});

test("D1: a task is found by an id prefix; an ambiguous prefix lists the matching tasks", LONG, async () => {
  await using home = await tempHome();
  const [one, other] = [await kanban(home, ["create", "one"]), await kanban(home, ["create", "other"])];
  const part = one.id.slice(2, 10);
  expect(await kanban<{ task: Task }>(home, ["show", part])).toMatchObject({ task: { id: one.id } });
  expect(await kanban(home, ["link", part, other.id.slice(0, 11).toUpperCase()])).toMatchObject({
    id: other.id,
    parent: one.id,
  });
  expect(await kanban(home, ["create", "child", "--parent", part])).toMatchObject({ status: "todo" });
  expect(await kanban(home, ["complete", part])).toMatchObject({ id: one.id, status: "done" });
  const board = new Sqlite(join(home.path, "board.sqlite"));
  for (const [number, title] of ["left", "right"].entries()) {
    const { id } = await kanban(home, ["create", title]);
    board.prepare("update task set id = ? where id = ?").run(`t_abcd0000000${number}`, id);
  }
  board.close();
  const several = await home.hermes(["kanban", "complete", "abcd"]);
  expect(several).toMatchObject({ exitCode: 1, stdout: "" });
  for (const said of ["t_abcd00000000  ready  left", "t_abcd00000001  ready  right"])
    expect(several.stderr).toContain(said);
  const short = await home.hermes(["kanban", "show", one.id.slice(2, 5)]);
  expect(short).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("There is no task") });
});

test(
  "A8: completing by hand removes the workspace and reports its content; gc removes the rest",
  LONG,
  async () => {
    await using home = await tempHome();
    const parent = await kanban(home, ["create", "first"]);
    const child = await kanban(home, ["create", "second", "--parent", parent.id]);
    const { workspace } = await kanban<{ workspace: { path: string } }>(home, ["claim", parent.id]);
    await writeFile(join(workspace.path, "notes.txt"), "x".repeat(5_000));
    await kanban(home, ["complete", parent.id]);
    await access(workspace.path); // the child may still need it
    const own = await kanban<{ workspace: { path: string } }>(home, ["claim", child.id]);
    await kanban(home, ["complete", child.id]);
    for (const path of [workspace.path, own.workspace.path])
      await expect(access(path)).rejects.toMatchObject({ code: "ENOENT" });
    const { events } = await kanban<{ events: BoardEvent[] }>(home, ["show", parent.id]);
    const discarded = events.find(({ kind }) => kind === "workspace_discarded_content");
    expect(discarded?.payload).toMatchObject({
      path: workspace.path,
      total_bytes: 5_000,
      file_count: 1,
      sample: [{ file: "notes.txt", bytes: 5_000 }],
    });
    await access(join(String(discarded?.payload["moved_to"]), "notes.txt"));

    const [before, after] = [await kanban(home, ["create", "a"]), await kanban(home, ["create", "b"])];
    const left = await kanban<{ workspace: { path: string } }>(home, ["claim", before.id]);
    await kanban(home, ["link", before.id, after.id]);
    await kanban(home, ["archive", before.id]);
    await access(left.workspace.path);
    await kanban(home, ["unlink", before.id, after.id]);
    expect(await kanban(home, ["gc"])).toMatchObject({ workspaces_removed: 1 });
    await expect(access(left.workspace.path)).rejects.toMatchObject({ code: "ENOENT" });
  },
);

test("A6: gc deletes old logs of finished tasks, and no others", LONG, async () => {
  await using home = await tempHome();
  const [finished, open] = [
    await kanban(home, ["create", "finished"]),
    await kanban(home, ["create", "open"]),
  ];
  await kanban(home, ["complete", finished.id]);
  const log = (...names: string[]): string => join(home.path, "kanban", "logs", ...names);
  const old = new Date(Date.now() - 8 * 86_400_000);
  const gone = "t_000000000000";
  for (const id of [finished.id, open.id, gone]) {
    await mkdir(log(id), { recursive: true });
    for (const name of ["1.log", "1.log.1"]) await writeFile(log(id, name), "said");
    for (const name of ["1.log", "1.log.1"]) await utimes(log(id, name), old, old);
  }
  await writeFile(log(finished.id, "2.log"), "said just now");
  await writeFile(join(home.folder, "mine.log"), "not ours");
  await utimes(join(home.folder, "mine.log"), old, old);
  await symlink(home.folder, log("t_111111111111"));
  expect(await kanban(home, ["gc"])).toMatchObject({ logs_deleted: 0 });
  expect(await kanban(home, ["gc", "--log-retention-days", "7"])).toMatchObject({ logs_deleted: 4 });
  expect(await readdir(log(finished.id))).toEqual(["2.log"]);
  expect(await readdir(log(open.id))).toEqual(["1.log", "1.log.1"]);
  await expect(access(log(gone))).rejects.toMatchObject({ code: "ENOENT" });
  await access(join(home.folder, "mine.log"));
});

test(
  "B1: create warns that a ready task of a profile waits while no dispatcher runs for its board",
  LONG,
  async () => {
    await using home = await tempHome();
    const create = (...args: string[]) => home.hermes(["kanban", "create", "a", ...args]);
    const waits = await create("--assignee", "default", "--json");
    expect(waits.stderr).toMatch(/no dispatcher is running for the board default.*`hermes kanban daemon`/);
    expect(waits.json()).toMatchObject({ status: "ready" });
    for (const args of [[], ["--assignee", "default", "--hold", "--initial-status", "blocked"]])
      expect((await create(...args)).stderr).toBe("");
    const board = new Sqlite(join(home.path, "board.sqlite"));
    const tick = board.prepare(
      "insert or replace into dispatcher (owner, host_id, last_tick_at) values ('d', 'h', ?)",
    );
    tick.run(Date.now());
    expect((await create("--assignee", "default")).stderr).toBe("");
    tick.run(Date.now() - 3_600_000);
    expect((await create("--assignee", "default")).stderr).toContain("no dispatcher is running");
    board.close();
  },
);

test(
  "A1: a portable export contains no data of this host, and its import is a consistent board",
  LONG,
  async () => {
    await using home = await tempHome();
    const task = await kanban(home, ["create", "a", "--workspace", `dir:${home.folder}/work`]);
    await kanban(home, ["claim", task.id]);
    const file = join(home.folder, "portable.jsonl");
    await kanban(home, ["export", "--portable", "-o", file]);
    const printed = await home.hermes(["kanban", "export", "--portable"]);
    expect(printed.stdout).not.toContain(home.folder);
    expect(await kanban(home, ["import", file, "--as", "copy"])).toMatchObject({ slug: "copy" });
    expect(await kanban(home, ["--board", "copy", "repair"])).toMatchObject({ ok: true });
    expect(await kanban(home, ["--board", "copy", "list"])).toMatchObject([{ id: task.id, status: "ready" }]);
  },
);
