import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openHostSlots } from "../../src/board/dispatcher/host-slots.ts";
import type { TaskDetails } from "../../src/board/operations/views/load-task-details.ts";
import type { Task } from "../../src/board/task.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { tempHome } from "../support/hermes.ts";
import { scale } from "../support/scale.ts";

const Sqlite = await loadSqlite();

type Home = Awaited<ReturnType<typeof tempHome>>;
const LONG = { timeout: 600_000 };
const isRoot = process.getuid?.() === 0;

async function create(home: Home, ...args: string[]): Promise<Task & { created: boolean }> {
  const run = await home.hermes(["kanban", "create", ...args, "--json"]);
  expect(run.exitCode, run.stderr).toBe(0);
  return run.json();
}

/** Runs a command that must be refused, and returns the error as scripts see it. */
async function errorOfCommand(home: Home, args: readonly string[], exitCode = 1) {
  const run = await home.hermes(["kanban", ...args, "--json"]);
  expect(run, run.stdout + run.stderr).toMatchObject({ exitCode, stdout: "" });
  return (JSON.parse(run.stderr.trim().split("\n").at(-1) ?? "") as { error: Record<string, string> }).error;
}

describe("a refused change leaves everything unchanged and says what to do", () => {
  test("a cycle of links, direct and indirect", LONG, async () => {
    await using home = await tempHome();
    const a = await create(home, "a");
    const b = await create(home, "b", "--parent", a.id);
    const c = await create(home, "c", "--parent", b.id);
    for (const parent of [b.id, c.id, a.id])
      expect(await errorOfCommand(home, ["link", parent, a.id])).toMatchObject({ code: "task-link-cycle" });
    const shown = await home.hermes(["kanban", "show", a.id, "--json"]);
    expect(shown.json()).toMatchObject({ parents: [], children: [b.id] });
  });

  test("a task that does not exist; a similar id is suggested", LONG, async () => {
    await using home = await tempHome();
    const { id } = await create(home, "a");
    expect(await errorOfCommand(home, ["create", "b", "--parent", "t_000000000000"])).toMatchObject({
      code: "task-not-found",
    });
    expect((await home.hermes(["kanban", "list", "--json"])).json()).toHaveLength(1);
    for (const wrong of [id.slice(0, 5), `${id.slice(0, 4)}${id[5]}${id[4]}${id.slice(6)}x`])
      expect(await errorOfCommand(home, ["show", wrong])).toMatchObject({
        code: "task-not-found",
        hint: `Did you mean ${id}?`,
      });
  });

  test("a second claim, and a task that is not ready", LONG, async () => {
    await using home = await tempHome();
    const a = await create(home, "a");
    const b = await create(home, "b", "--parent", a.id);
    const held = await create(home, "held", "--hold");
    const claims = await Promise.all(
      [1, 2].map(() => home.hermes(["kanban", "claim", a.id, "--json"], { ownProcess: true })),
    );
    expect(claims.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 1]);
    expect(await errorOfCommand(home, ["claim", a.id])).toMatchObject({ code: "task-running" });
    expect(await errorOfCommand(home, ["claim", b.id])).toMatchObject({ code: "task-move-refused" });
    expect(await errorOfCommand(home, ["claim", held.id])).toMatchObject({
      hint: expect.stringContaining("--off"),
    });
    expect(await errorOfCommand(home, ["assign", a.id, "x"])).toMatchObject({ code: "task-running" });
    expect(await errorOfCommand(home, ["release", b.id])).toMatchObject({ code: "task-move-refused" });
    expect(await errorOfCommand(home, ["complete", b.id])).toMatchObject({ code: "task-move-refused" });
    expect(await errorOfCommand(home, ["promote", b.id])).toMatchObject({ code: "task-parents-open" });
    expect(await errorOfCommand(home, ["promote", "--dry-run", b.id])).toMatchObject({
      code: "task-parents-open",
    });
    await home.hermes(["kanban", "hold", "--off", held.id]);
    await home.hermes(["kanban", "pause"]);
    expect(await errorOfCommand(home, ["claim", held.id])).toMatchObject({
      hint: expect.stringContaining("resume"),
    });
  });

  test("a task whose workspace cannot be created is not claimed", LONG, async () => {
    await using home = await tempHome();
    const { id } = await create(home, "a", "--workspace", `worktree:${home.folder}/no-repository`);
    const error = await errorOfCommand(home, ["claim", id]);
    expect(error).toMatchObject({ code: "workspace-refused" });
    const { task, runs } = (await home.hermes(["kanban", "show", id, "--json"])).json<TaskDetails>();
    expect([task.status, runs.map(({ outcome }) => outcome)]).toEqual(["ready", ["released"]]);
  });

  test("a claim by hand that has expired is free again", LONG, async () => {
    await using home = await tempHome();
    const { id } = await create(home, "a");
    expect((await home.hermes(["kanban", "claim", id, "--ttl", "1"])).exitCode).toBe(0);
    const again = async () => (await home.hermes(["kanban", "claim", id, "--ttl", "1h"])).exitCode;
    await expect.poll(again, { timeout: 150_000, interval: 100 }).toBe(0);
    const runs = (await home.hermes(["kanban", "runs", id, "--json"])).json<{ outcome: string | null }[]>();
    expect(runs.map(({ outcome }) => outcome)).toEqual(["reclaimed", null]);
  });

  test("an archived task no longer changes, and only an archived one is deleted", LONG, async () => {
    await using home = await tempHome();
    const { id } = await create(home, "a");
    expect(await errorOfCommand(home, ["purge", id])).toMatchObject({ code: "task-move-refused" });
    await home.hermes(["kanban", "archive", id]);
    const changes = [
      ["complete", id],
      ["assign", id, "x"],
      ["edit", id, "--title", "b"],
      ["block", id, "why"],
      ["hold", id],
      ["archive", id],
    ];
    for (const args of changes)
      expect(await errorOfCommand(home, args)).toMatchObject({ code: "task-move-refused" });
  });

  test("an assignee that is not a profile is a lane, and a likely typo is pointed out", LONG, async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "coder"]);
    const typo = await home.hermes(["kanban", "create", "a", "--assignee", "codr", "--json"]);
    expect(typo.json()).toMatchObject({ assignee: "codr", status: "ready" });
    expect(typo.stderr).toMatch(/no profile codr.*Did you mean coder\?/);
    const right = await home.hermes(["kanban", "create", "b", "--assignee", "CODER", "--json"]);
    expect(right.stderr).not.toContain("no profile");
    expect(right.json()).toMatchObject({ assignee: "coder" });
  });

  test("a model of an unknown provider is refused, unless the assignee has its own server", async () => {
    await using home = await tempHome();
    await home.hermes(["profile", "create", "coder"]);
    const create = (env: Record<string, string>) =>
      home.hermes(["kanban", "create", "a", "--assignee", "coder", "--model", "qwen3:8b"], { env });
    expect(await create({ OPENAI_API_KEY: "sk-test" })).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining("There is no provider named qwen3."),
    });
    expect(await create({ HERMES_MODEL_BASE_URL: "http://127.0.0.1:11434/v1" })).toMatchObject({
      exitCode: 0,
    });
  });
});

describe("wrong usage", () => {
  const mistakes: [string[], RegExp][] = [
    [["lst"], /unknown command 'lst'\n {2}Did you mean `hermes kanban list`\?/],
    [["gobble"], /unknown command 'gobble'/],
    [["create"], /missing required argument/],
    [["create", "x", "--max-runtime", "soon"], /300, 90s, 30m/],
    [["create", "x", "--scheduled-at", "tomorrow"], /2026-01-31/],
    [["create", "x", "--workspace", "dir:here"], /absolute path/],
    [["create", "x", "--workspace", "dir"], /dir:PATH/],
    [["create", "x", "--max-retries", "0"], /greater than 0/],
    [["create", "x", "--provider", "openrouter"], /needs a model/],
    [["create", "x", "--triage", "--initial-status", "blocked"], /cannot be used with/],
    [["create", "two\nlines"], /line breaks/],
    [["list", "--mine", "--assignee", "x"], /cannot be used with/],
    [["list", "--status", "doing"], /triage, todo/],
    [["schedule", "t_x"], /--at/],
    [["complete", "t_x", "--metadata", "[1]"], /JSON object/],
    [["edit", "t_x"], /No change was given/],
  ];
  test.each(mistakes)("%j exits with 2, with a hint and an empty stdout", async (args, expected) => {
    await using home = await tempHome();
    const run = await home.hermes(["kanban", ...args]);
    expect(run).toMatchObject({ exitCode: 2, stdout: "" });
    expect(run.stderr).toMatch(expected);
  });

  test("every verb has a page with examples, within 80 columns", LONG, async () => {
    await using home = await tempHome();
    const page = (await home.hermes(["kanban", "--help"])).stdout;
    const verbs = [...page.matchAll(/^ {2}([a-z-]+)(?: [<[].*?)? {2,}[A-Z]/gm)].map(
      (match) => match[1] ?? "",
    );
    expect(verbs.slice(0, 5)).toEqual(["create", "list", "show", "answer", "why"]);
    expect(page, "a verb without a group").not.toContain("\nCommands:");
    expect(verbs.length).toBeGreaterThan(30);
    for (let at = 0; at < verbs.length; at += 4) {
      const pages = await Promise.all(
        verbs.slice(at, at + 4).map((verb) => home.hermes(["kanban", verb, "--help"])),
      );
      for (const { stdout } of pages) {
        expect(stdout).toContain("Examples:");
        for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(82);
        for (const option of stdout.split(/\n(?= {0,4}\S)/))
          expect(option.match(/\(default/g)?.length ?? 0, option).toBeLessThan(2);
      }
    }
  });
});

describe("an unusable board is left unchanged", () => {
  async function withBoard(spoil: (path: string) => Promise<void> | void, code: string): Promise<void> {
    await using home = await tempHome();
    await create(home, "a");
    const path = join(home.path, "board.sqlite");
    await spoil(path);
    const before = await readFile(path);
    for (const args of [["list"], ["create", "b"], ["repair"]])
      expect(await errorOfCommand(home, args)).toMatchObject({
        code,
        message: expect.stringContaining(path),
      });
    expect(await readFile(path)).toEqual(before);
    // The other boards, and the list of boards, are not affected.
    const made = await home.hermes(["kanban", "boards", "create", "ops", "--json"]);
    expect(made.exitCode, made.stderr).toBe(0);
    const boards = (await home.hermes(["kanban", "boards", "list", "--json"])).json();
    expect(boards).toMatchObject([
      { slug: "default", open_tasks: null },
      { slug: "ops", open_tasks: 0 },
    ]);
  }

  test("a board of a newer version", LONG, () =>
    withBoard((path) => {
      const database = new Sqlite(path);
      database.pragma("user_version = 9999");
      database.close();
    }, "database-newer"),
  );

  test("a damaged board", LONG, () =>
    withBoard((path) => writeFile(path, "x".repeat(8_192)), "database-damaged"),
  );

  test("a database of another program", LONG, () =>
    withBoard((path) => {
      const database = new Sqlite(path);
      database.pragma("application_id = 1");
      database.close();
    }, "database-foreign"),
  );

  test.each([
    ["file", 0o700, 0o400],
    ["folder", 0o500, 0o600],
    ["file in a folder", 0o500, 0o400],
  ])(
    "a %s without write permission can be read by its owner, who is not root",
    LONG,
    async (_, folderMode, fileMode) => {
      await using home = await tempHome();
      await create(home, "kept");
      const file = join(home.path, "board.sqlite");
      const asPlainUser = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"];
      if (isRoot) {
        await chmod(home.folder, 0o755);
        spawnSync("chown", ["-R", "65534:65534", home.path]);
      }
      await chmod(file, fileMode);
      await chmod(home.path, folderMode);
      try {
        const run = (words: string) =>
          spawnSync(
            "sh",
            ["-c", `${asPlainUser.join(" ")} "${process.execPath}" dist/main.cjs kanban ${words}`],
            {
              encoding: "utf8",
              env: { PATH: process.env["PATH"], HERMES_HOME: home.path, HOME: home.folder },
            },
          );
        const list = run("list");
        expect(list, list.stderr).toMatchObject({ status: 0, stdout: expect.stringContaining("kept") });
        const create = run("create more");
        expect(create).toMatchObject({ status: 1, stdout: "" });
        expect(create.stderr).toContain(file);
        expect(create.stderr).not.toContain("hermes-copy");
      } finally {
        await chmod(home.path, 0o700);
      }
    },
  );

  test.skipIf(!isRoot)("a board in a read-only home (needs root to mount one)", LONG, async () => {
    await using home = await tempHome();
    await mkdir(home.path);
    spawnSync("mount", ["-t", "tmpfs", "none", home.path]);
    try {
      spawnSync("mount", ["-o", "remount,ro", home.path]);
      const none = await home.hermes(["kanban", "create", "a"]);
      expect(none).toMatchObject({ exitCode: 1, stdout: "" });
      expect(none.stderr).toMatch(/read-only|unable to open/i);
      spawnSync("mount", ["-o", "remount,rw", home.path]);
      await home.hermes(["kanban", "create", "kept", "--assignee", "default"]);
      await home.hermes(["kanban", "claim", "1"]);
      await home.hermes(["kanban", "release", "1"]);
      await home.hermes(["kanban", "attach", "1", import.meta.filename]);
      await home.hermes(["kanban", "boards", "create", "other"]);
      for (const withSlots of [false, true]) {
        if (withSlots) {
          spawnSync("mount", ["-o", "remount,rw", home.path]);
          using slots = openHostSlots({ root: home.path, host: "h", board: "b" }, systemClock);
          await slots.reserve(9, new AbortController().signal);
        }
        // The remount is refused while a process has a file open for writing.
        const protect = () => spawnSync("mount", ["-o", "remount,ro", home.path]).status;
        await expect.poll(protect, { timeout: 30_000 }).toBe(0);
        for (const words of READING) {
          const run = await home.hermes(["kanban", ...words.split(" ")]);
          expect(run, `${words}: ${run.stderr}`).toMatchObject({ exitCode: 0 });
        }
      }
      expect((await home.hermes(["kanban", "list"])).stdout).toContain("kept");
      const run = await home.hermes(["kanban", "create", "a"]);
      expect(run).toMatchObject({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringContaining("is read-only"),
      });
    } finally {
      spawnSync("umount", [home.path]);
    }
  });
});

/** Every verb that only reads. */
const READING = [
  ...["board", "list", "show 1", "why 1", "stats", "search kept", "runs 1", "diagnostics", "assignees"],
  ...["context 1", "attachments 1", "dispatch-status", "export", "boards list", "boards show", "help-moves"],
  ...["repair", "--board other list"],
];

test(
  "A7: of many processes that create a task with the same key at once, one creates the task and all return it",
  LONG,
  async () => {
    await using home = await tempHome();
    const args = ["kanban", "create", "once", "--idempotency-key", "k1", "--json"];
    const runs = await Promise.all(
      Array.from({ length: scale.processes }, () => home.hermes(args, { ownProcess: true })),
    );
    expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(
      Array(scale.processes).fill([0, ""]),
    );
    const answers = runs.map((run) => run.json<Task & { created: boolean }>());
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    const { id } = answers[0] ?? { id: "" };

    await home.hermes(["kanban", "complete", id]);
    expect(await create(home, "again", "--idempotency-key", "k1")).toMatchObject({ id, created: false });
    const next = await create(home, "again", "--idempotency-key", "k1", "--dedupe", "open");
    expect(next).toMatchObject({ created: true });
    await home.hermes(["kanban", "archive", next.id]);
    expect(await create(home, "third", "--idempotency-key", "k1")).toMatchObject({ created: true });
  },
);
