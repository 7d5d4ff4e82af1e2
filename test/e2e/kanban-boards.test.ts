import { randomBytes } from "node:crypto";
import { access, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { openBoardStore } from "../../src/board/board-store.ts";
import type { BoardEvent, Task } from "../../src/board/task.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempHome } from "../support/hermes.ts";

type Home = Awaited<ReturnType<typeof tempHome>>;
const LONG = { timeout: 600_000 };

async function kanban<Value = Task>(home: Home, args: readonly string[], env = {}): Promise<Value> {
  const run = await home.hermes(["kanban", ...args, "--json"], { env });
  expect(run.exitCode, `${args.join(" ")}\n${run.stderr}`).toBe(0);
  return run.json();
}

const slugOf = async (home: Home, args: readonly string[], env = {}): Promise<string> =>
  (await kanban<{ slug: string }>(home, [...args, "boards", "show"], env)).slug;

describe("boards", () => {
  test(
    "A1: the board is selected by --board, then HERMES_KANBAN_BOARD, then the current board, then default",
    LONG,
    async () => {
      await using home = await tempHome();
      for (const slug of ["one", "two", "three"]) await kanban(home, ["boards", "create", slug]);
      expect(await slugOf(home, [])).toBe("default");
      expect(await kanban(home, ["boards", "switch", "One"])).toMatchObject({
        slug: "one",
        name: "One",
        current: true,
      });
      expect(await slugOf(home, [])).toBe("one");
      expect(await slugOf(home, [], { HERMES_KANBAN_BOARD: "two" })).toBe("two");
      expect(await slugOf(home, ["--board", "three"], { HERMES_KANBAN_BOARD: "two" })).toBe("three");
      await kanban(home, ["create", "here"]);
      expect(await kanban(home, ["list"], { HERMES_KANBAN_BOARD: "two" })).toEqual([]);
      expect(await kanban(home, ["--board", "one", "list"])).toMatchObject([{ title: "here" }]);

      for (const pointer of ["gone\n", "../../etc\n", ""]) {
        await writeFile(join(home.path, "kanban", "current"), pointer);
        expect(await slugOf(home, [])).toBe("default");
      }
    },
  );

  test("A1: boards can have a separate root folder", LONG, async () => {
    await using home = await tempHome();
    const elsewhere = join(home.folder, "boards-root");
    await mkdir(elsewhere);
    const made = await kanban<{ path: string }>(home, ["init"], { HERMES_KANBAN_HOME: elsewhere });
    expect(made.path).toBe(join(elsewhere, "board.sqlite"));
    await access(made.path);
  });

  test(
    "a board that does not exist is never created by accident, and a similar name is suggested",
    LONG,
    async () => {
      await using home = await tempHome();
      await kanban(home, ["boards", "create", "release"]);
      for (const env of [{}, { HERMES_KANBAN_BOARD: "relase" }]) {
        const flag = "HERMES_KANBAN_BOARD" in env ? [] : ["--board", "relase"];
        for (const verb of [["list"], ["create", "x"]]) {
          const run = await home.hermes(["kanban", ...flag, ...verb], { env });
          expect(run).toMatchObject({
            exitCode: 1,
            stdout: "",
            stderr: expect.stringContaining("Did you mean release?"),
          });
        }
      }
      const bad = await home.hermes(["kanban", "boards", "create", "../x"]);
      expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("not a valid board slug") });
      expect(await readdir(join(home.path, "kanban", "boards"))).toEqual(["release"]);
    },
  );

  test(
    "A1: a board is created once, and archived, or deleted permanently after confirmation",
    LONG,
    async () => {
      await using home = await tempHome();
      expect(await kanban(home, ["boards", "create", "ops", "--switch"])).toMatchObject({
        slug: "ops",
        created: true,
      });
      expect(await kanban(home, ["boards", "create", "OPS"])).toMatchObject({ slug: "ops", created: false });
      const { id } = await kanban(home, ["create", "busy"]);
      await kanban(home, ["claim", id]);
      const busy = await home.hermes(["kanban", "boards", "rm", "ops"]);
      expect(busy).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("running") });
      await kanban(home, ["release", id]);
      const removed = await kanban<{ kept_in: string }>(home, ["boards", "rm", "ops"]);
      await access(join(removed.kept_in, "board.sqlite"));
      expect(await slugOf(home, [])).toBe("default");
      expect(await kanban(home, ["boards", "list"])).toMatchObject([{ slug: "default", current: true }]);
      expect(await kanban(home, ["boards", "list", "--all"])).toMatchObject({ removed: [removed.kept_in] });

      await kanban(home, ["boards", "create", "ops"]);
      expect(await slugOf(home, [])).toBe("default"); // a new board of that name is not the current board
      const asked = await home.hermes(["kanban", "boards", "rm", "ops", "--delete"]);
      expect(asked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("needs confirmation") });
      expect(await kanban(home, ["boards", "rm", "ops", "--delete", "--yes"])).toMatchObject({
        kept_in: null,
      });
      const twice = await home.hermes(["kanban", "boards", "rm", "ops", "--delete", "--yes"]);
      expect(twice).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no board ops") });
      const fixed = await home.hermes(["kanban", "boards", "rm", "default"]);
      expect(fixed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("always exists") });
    },
  );
});

describe("export and import", () => {
  async function fill(home: Home): Promise<string> {
    const a = await kanban(home, ["create", "First ✓", "--body", "with\nlines"]);
    await kanban(home, ["create", "Second", "--parent", a.id, "--idempotency-key", "k"]);
    await kanban(home, ["comment", a.id, "hm"]);
    await kanban(home, ["claim", a.id]);
    await kanban(home, ["complete", a.id, "--summary", "done", "--metadata", '{"n":1}']);
    return a.id;
  }

  test("A1: an import is a new board with the same content, whatever the slug", LONG, async () => {
    await using home = await tempHome();
    const id = await fill(home);
    const file = join(home.folder, "board.jsonl");
    expect(await kanban(home, ["export", "-o", file])).toMatchObject({ slug: "default", path: file });
    const twice = await home.hermes(["kanban", "export", "-o", file]);
    expect(twice).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("already exists") });
    const first = await readFile(file, "utf8");
    expect((await home.hermes(["kanban", "export"])).stdout).toBe(first);

    expect(await kanban(home, ["import", file])).toMatchObject({ slug: "default-2" });
    expect(await kanban(home, ["import", file])).toMatchObject({ slug: "default-3" });
    expect(await kanban(home, ["import", file, "--as", "copy", "--switch"])).toMatchObject({ slug: "copy" });
    const strip = (text: string): string[] => text.split("\n").slice(1);
    for (const slug of ["default-2", "default-3", "copy"]) {
      const copy = await home.hermes(["kanban", "--board", slug, "export"]);
      expect(strip(copy.stdout)).toEqual(strip(first));
    }
    expect(await kanban(home, ["repair"])).toMatchObject({ ok: true });
    expect(await kanban(home, ["show", id])).toMatchObject({
      task: { status: "done" },
      comments: [{ body: "hm" }],
    });
    // Numbers continue after the imported ones.
    expect(await kanban(home, ["comment", id, "more"])).toMatchObject({ id });

    const taken = await home.hermes(["kanban", "import", file, "--as", "copy"]);
    expect(taken).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("The board copy already exists"),
    });
    const full = await home.hermes(["kanban", "import", file, "--as", "default"]);
    expect(full).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("already has tasks") });

    await using other = await tempHome();
    const piped = await other.hermes(["kanban", "import", "-", "--as", "default", "--json"], {
      stdin: first,
    });
    expect(piped.json(), piped.stderr).toMatchObject({ slug: "default" });
    expect((await other.hermes(["kanban", "export"])).stdout).toBe(first);
  });

  test("attachments are exported and imported with their content, atomically", LONG, async () => {
    await using home = await tempHome();
    const { id } = await kanban(home, ["create", "a"]);
    const contents = {
      "big.bin": randomBytes(500_000),
      "empty.txt": Buffer.alloc(0),
      "lost.txt": Buffer.from("x"),
    };
    for (const [name, content] of Object.entries(contents)) {
      await writeFile(join(home.folder, name), content);
      await kanban(home, ["attach", id, join(home.folder, name)]);
    }
    await rm(join(home.path, "kanban", "attachments", id, "lost.txt"));
    const file = join(home.folder, "board.jsonl");
    const made = await home.hermes(["kanban", "export", "--portable", "-o", file]);
    expect(made).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/lost\.txt.*does not contain it/),
    });
    const text = await readFile(file, "utf8");
    expect(text).not.toContain(home.folder);
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThan(300_000);
    expect((await home.hermes(["kanban", "export", "--no-files"])).stdout).not.toContain('{"file":');

    await using other = await tempHome();
    await kanban(other, ["import", file, "--as", "copy"]);
    const folder = join(other.path, "kanban", "boards", "copy", "attachments", id);
    expect((await readFile(join(folder, "big.bin"))).equals(contents["big.bin"])).toBe(true);
    expect(await readdir(folder)).toEqual(["big.bin", "empty.txt"]);
    const listed = await kanban<{ stored_path: string }[]>(other, ["--board", "copy", "attachments", id]);
    expect(listed.map(({ stored_path }) => stored_path)).toContain(join(folder, "big.bin"));
    const { stdout } = await other.hermes(["kanban", "--board", "copy", "export", "--portable"]);
    expect(stdout.split("\n").slice(1)).toEqual(text.split("\n").slice(1));

    const lines = text.trimEnd().split("\n");
    const isPart = (line: string): boolean => line.startsWith('{"file":');
    const last = lines.findLastIndex((line) => isPart(line) && line.length > 100);
    for (const wrong of [
      lines.filter((_, index) => index !== last), // a part is missing
      [...lines, '{"file":999,"content":""}'],
      lines.map((line) => line.replaceAll("big.bin", "..")),
      lines.map((line) => (isPart(line) ? line : line.replaceAll(id, "t_../../x"))),
    ]) {
      const run = await other.hermes(["kanban", "import", "-", "--as", "bad"], { stdin: wrong.join("\n") });
      expect(run, run.stderr).toMatchObject({ exitCode: 1, stdout: "" });
    }
    expect(await readdir(join(other.path, "kanban", "boards"))).toEqual(["copy"]);
    const home2 = await other.hermes(["kanban", "import", "-", "--as", "default"], {
      stdin: lines.filter((_, index) => index !== last).join("\n"),
    });
    expect(home2.exitCode).toBe(1);
    expect(await readdir(join(other.path, "kanban", "attachments"))).toEqual([]); // no folder of the task is left
  });

  test("an import of anything but an export leaves no board behind", LONG, async () => {
    await using home = await tempHome();
    await fill(home);
    const good = (await home.hermes(["kanban", "export"])).stdout;
    const lines = good.trimEnd().split("\n");
    for (const text of [
      "",
      "hello",
      `${lines.slice(1).join("\n")}`,
      `${good}{"table":"task","row":{"nope":1}}\n`,
    ]) {
      const run = await home.hermes(["kanban", "import", "-", "--as", "new"], { stdin: text });
      expect(run, run.stderr).toMatchObject({ exitCode: 1, stdout: "" });
      expect(run.stderr).toContain("Nothing was imported");
    }
    expect(await readdir(join(home.path, "kanban"))).toEqual(["importing", "workspaces"]);
    expect(await readdir(join(home.path, "kanban", "importing"))).toEqual([]);
  });
});

describe("events as they happen", () => {
  /** The JSON lines that a running command has printed so far. */
  function follow(home: Home, args: readonly string[]) {
    const { child, ended } = home.start(["kanban", ...args, "--json"]);
    const events: BoardEvent[] = [];
    if (child.stdout === null) throw new Error("the command has no stdout");
    createInterface({ input: child.stdout }).on("line", (line) => events.push(JSON.parse(line)));
    return {
      /** Resolves when the command has printed something on stderr. */
      noted: new Promise((resolve) => child.stderr?.once("data", resolve)),
      events,
      kinds: () => events.map(({ kind }) => kind),
      child,
      ended,
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL");
        await ended;
      },
    };
  }
  const soon = { timeout: 150_000, interval: 20 };

  test(
    "tail prints past events, then those of another process, until the task is deleted",
    LONG,
    async () => {
      await using home = await tempHome();
      const { id } = await kanban(home, ["create", "a"]);
      const other = await kanban(home, ["create", "b"]);
      await using tail = follow(home, ["tail", id, "--interval", "0.05"]);
      await expect.poll(tail.kinds, soon).toEqual(["created"]);
      await using store = await openBoardStore(
        { root: home.path, databaseUrl: "", slug: "default" },
        {},
        neverAborted,
      );
      const operator = store.as({ kind: "operator", name: "bob" });
      await operator.comment(id, "one", neverAborted);
      await operator.comment(other.id, "elsewhere", neverAborted);
      await expect.poll(tail.kinds, soon).toEqual(["created", "commented"]);
      await operator.complete(id, {}, neverAborted);
      await expect.poll(tail.kinds, soon).toEqual(["created", "commented", "completed"]);
      await operator.archive(id, neverAborted);
      await expect.poll(tail.kinds, soon).toContain("archived"); // its events are deleted with it
      await operator.purge(id, neverAborted);
      expect((await tail.ended).exitCode).toBe(0);
      expect(tail.kinds()).toEqual(["created", "commented", "completed", "archived", "purged"]);
      expect(tail.events[1]).toMatchObject({ task_id: id, actor: "bob" });
    },
  );

  test(
    "watch prints new events of the whole board that pass its filters, until it is interrupted",
    LONG,
    async () => {
      await using home = await tempHome();
      const mine = await kanban(home, ["create", "a", "--assignee", "coder", "--tenant", "acme"]);
      const other = await kanban(home, ["create", "b"]);
      await using all = follow(home, ["watch", "--interval", "0.05"]);
      const filters = ["--assignee", "Coder", "--tenant", "acme", "--kinds", "blocked, unblocked"];
      await using some = follow(home, ["watch", "--interval", "0.05", ...filters]);
      await Promise.all([all.noted, some.noted]); // both are watching
      await kanban(home, ["block", mine.id, "why"]);
      await kanban(home, ["block", other.id, "why"]);
      await kanban(home, ["unblock", mine.id]);
      await expect.poll(some.kinds, soon).toEqual(["blocked", "unblocked"]);
      await expect
        .poll(all.kinds, soon)
        .toEqual(["commented", "blocked", "commented", "blocked", "unblocked"]);
      expect(some.events.every(({ task_id }) => task_id === mine.id)).toBe(true);
      all.child.kill("SIGINT");
      expect((await all.ended).exitCode).toBe(130);
    },
  );
});
