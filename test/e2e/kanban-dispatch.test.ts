import { spawnSync } from "node:child_process";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { TaskDetails } from "../../src/board/operations/views/load-task-details.ts";
import { tempHome } from "../support/hermes.ts";
import { openOwnDatabase } from "../support/own-database.ts";
import { startScriptedServer } from "../support/scripted-server.ts";
import { describeWith } from "../support/services.ts";

const WAIT = { timeout: 150_000, interval: 100 };

interface Created {
  readonly id: string;
}

async function openHome(env: Readonly<Record<string, string>> = {}) {
  const home = await tempHome();
  const kanban = (...words: string[]) => home.hermes(["kanban", ...words], { env });
  return {
    ...home,
    kanban,
    startDaemon: () => home.start(["kanban", "daemon"], { env }),
    async create(title: string, ...words: string[]): Promise<string> {
      const made = await kanban("create", title, "--json", ...words);
      expect(made.exitCode, made.stderr).toBe(0);
      return made.json<Created>().id;
    },
    /** Creates a profile whose model completes every task. */
    async addProfile(name: string): Promise<string> {
      const profile = join(home.path, "profiles", name);
      await mkdir(profile, { recursive: true, mode: 0o700 });
      const script = { answers: [{ tools: [{ name: "kanban_complete", input: { summary: "all done" } }] }] };
      await writeFile(join(profile, "script.json"), JSON.stringify(script));
      await writeFile(
        join(profile, "config.yaml"),
        `model:\n  provider: scripted\n  default: ${join(profile, "script.json")}\n`,
      );
      return profile;
    },
  };
}

describe("hermes kanban dispatch", () => {
  it("a dry run reports what would start, what would not and why, and changes nothing", async () => {
    await using home = await openHome();
    const mine = await home.create("mine", "--assignee", "default");
    const stranger = await home.create("stranger", "--assignee", "nobody-here");
    const run = await home.kanban("dispatch", "--dry-run", "--json");
    expect(run.exitCode, run.stderr).toBe(0);
    expect(run.json()).toMatchObject({
      dry_run: true,
      spawned: [{ task_id: mine, assignee: "default", workspace: "" }],
      skipped_nonspawnable: [stranger],
      nonspawnable_reasons: { "nobody-here": expect.stringContaining("nobody-here") },
    });
    const status = await home.kanban("dispatch-status", "--json");
    expect(status.json()).toMatchObject({ board: "default", ready: 2, running: 0, dispatchers: [] });
    const said = (await home.kanban("dispatch", "--dry-run")).stdout;
    expect(said).toContain("Would start #1 mine as default.\n");
    expect(said).toContain("Not started, profile not usable here: #2 stranger.\n");
  });

  it("G35: a pass without free capacity starts nothing, names each task, and is recorded", async () => {
    await using home = await openHome();
    const id = await home.create("mine", "--assignee", "default");
    const pass = await home.kanban("dispatch", "--max", "0", "--json");
    expect(pass.json()).toMatchObject({ spawned: [], deferred_capacity: [id], skipped_locked: false });
    const status = (await home.kanban("dispatch-status", "--json")).json();
    expect(status).toMatchObject({
      lease: { live: false },
      dispatchers: [{ last_error: null, outcomes: { deferred_capacity: 1 } }],
    });
    expect((await home.kanban("dispatch-status")).stdout).toContain("LAST PASS");
  });

  it("why names one reason and suggests assign; reassign and unguard work on the task", async () => {
    await using home = await openHome();
    const id = await home.create("mine", "--assignee", "nobody-here");
    const why = await home.kanban("why", id, "--json");
    expect(why.json()).toMatchObject({ task_id: id, reason: "nonspawnable" });
    expect((await home.kanban("why", id)).stdout).toMatch(/hermes kanban assign \d+ PROFILE/);
    const given = await home.kanban("reassign", id, "default", "--reclaim", "--json");
    expect(given.json()).toMatchObject({ id, assignee: "default" });
    expect((await home.kanban("why", id, "--json")).json()).toMatchObject({ reason: "no-dispatcher" });
    expect((await home.kanban("unguard", id, "--json")).json()).toMatchObject({ id, status: "ready" });
    const wrong = await home.kanban("why", "t_000000000000");
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stderr).toContain("There is no task");
  });

  it("a refused model of one task delays the tasks with the same model, and no others", async () => {
    await using home = await openHome();
    const profile = await home.addProfile("coder");
    const wrong = join(profile, "wrong.json");
    await writeFile(wrong, JSON.stringify({ answers: [{ text: "no", fail: { kind: "not-found" } }] }));
    const choosing = ["--assignee", "coder", "--provider", "scripted", "--model", wrong];
    const first = await home.create("first", ...choosing, "--priority", "9");
    await home.create("same model", ...choosing);
    const own = await home.create("own model", "--assignee", "coder");
    const statusOf = async (id: string) =>
      (await home.kanban("show", id, "--json")).json<{ task: { status: string } }>().task.status;
    expect((await home.kanban("dispatch", "--max", "1")).stdout).toContain("Started #1 first");
    await vi.waitFor(async () => expect(await statusOf(first)).toBe("blocked"), WAIT);
    const pass = await home.kanban("dispatch");
    expect(pass.stdout).toContain("Started #3 own model as coder.");
    await vi.waitFor(async () => expect(await statusOf(own)).toBe("done"), WAIT);
    expect((await home.kanban("list")).stdout).toMatch(
      /same model +until \d\d:\d\d: its model or key was refused$/m,
    );
    expect((await home.kanban("why", "2")).stdout).toMatch(
      /It waits until .*the model or the key that it uses, as #1 found out\.\n.*hermes kanban retry 1/,
    );
    await home.kanban("set-model", "2", "none");
    expect((await home.kanban("dispatch")).stdout).toContain("Started #2 same model");
  });

  it("a refused key delays the tasks that use it, and after its correction they start at once", async () => {
    await using home = await openHome();
    const answers = [{ tools: [{ name: "kanban_complete", input: { summary: "all done" } }] }];
    let isRefused = true;
    const refusal = {
      type: "answer",
      status: 401,
      body: '{"error":{"message":"Incorrect API key"}}',
    } as const;
    await using server = await startScriptedServer(
      { answers },
      { misbehave: () => (isRefused ? refusal : undefined) },
    );
    const profile = await home.addProfile("coder");
    const model = { base_url: `${server.url}/v1`, default: "m" };
    await writeFile(join(profile, "config.yaml"), JSON.stringify({ model }));
    const storeKey = (key: string) =>
      writeFile(join(profile, ".env"), `OPENAI_API_KEY=${key}\n`, { mode: 0o600 });
    await storeKey("sk-test-wrong");
    const first = await home.create("first", "--assignee", "coder");
    const second = await home.create("second", "--assignee", "coder");
    const taskOf = async (id: string) => (await home.kanban("show", id, "--json")).json<TaskDetails>().task;
    await home.kanban("dispatch", "--max", "1");
    await vi.waitFor(async () => expect(await taskOf(first)).toMatchObject({ status: "blocked" }), WAIT);
    expect((await home.kanban("dispatch")).stdout).not.toContain("Started");
    expect((await home.kanban("why", "2")).stdout).toContain("the model or the key that it uses");
    isRefused = false;
    await storeKey("sk-test-right");
    expect((await home.kanban("dispatch")).stdout).toContain("Started #2 second");
    await vi.waitFor(async () => expect(await taskOf(second)).toMatchObject({ status: "done" }), WAIT);
    expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer sk-test-right");
  });

  it("a task and its two children on the same branch run one after the other without a failure and leave no worktree", async () => {
    await using home = await openHome();
    await home.addProfile("coder");
    const repository = join(home.folder, "shop");
    await mkdir(repository);
    const git = (...words: string[]) =>
      spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
        cwd: repository,
        encoding: "utf8",
      }).stdout;
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "first");
    const on = ["--assignee", "coder", "--workspace", `worktree:${repository}`, "--branch", "feature"];
    const ids = [await home.create("Design", ...on)];
    const parent = ids[0] ?? "";
    for (const title of ["Build", "Test"]) ids.push(await home.create(title, ...on, "--parent", parent));
    const daemon = home.startDaemon();
    const shown = async (id: string) => {
      const show = await home.kanban("show", id, "--json");
      expect(show.exitCode, show.stderr).toBe(0);
      return show.json<TaskDetails>();
    };
    for (const id of ids) {
      await vi.waitFor(async () => expect((await shown(id)).task.status).toBe("done"), WAIT);
      expect((await shown(id)).runs.map(({ outcome }) => outcome)).toEqual(["completed"]);
    }
    await vi.waitFor(() => expect(git("worktree", "list").trim().split("\n")).toHaveLength(1), WAIT);
    daemon.child.kill("SIGTERM");
    await daemon.ended;
  });

  it("reassign refuses a task that was claimed by hand, unless --reclaim is given", async () => {
    await using home = await openHome();
    const id = await home.create("mine", "--assignee", "default");
    expect((await home.kanban("claim", id)).exitCode).toBe(0);
    const refused = await home.kanban("reassign", id, "other");
    expect(refused.exitCode).toBe(1);
    const given = await home.kanban("reassign", id, "other", "--reclaim", "--json");
    expect(given.json(), given.stderr).toMatchObject({ id, assignee: "other", status: "ready" });
  });

  it("G35: a daemon holds the leases of its boards, notices a new task at once, and exits cleanly on SIGINT", async () => {
    await using home = await openHome();
    await home.create("nobody's");
    const daemon = home.start(["kanban", "daemon"]);
    const status = async () => (await home.kanban("dispatch-status", "--json")).json<DispatchStatus>();
    await vi.waitFor(async () => expect((await status()).lease?.pid).toBe(daemon.child.pid), WAIT);
    const [before] = (await status()).dispatchers;
    await home.create("another");
    await vi.waitFor(async () => {
      const [after] = (await status()).dispatchers;
      expect(after?.last_tick_at).toBeGreaterThan(before?.last_tick_at ?? 0);
      expect(after?.outcomes.skipped_unassigned).toBe(2);
    }, WAIT);
    daemon.child.kill("SIGINT");
    const ended = await daemon.ended;
    expect(ended.exitCode, ended.stderr).toBe(0);
    expect((await status()).lease?.live).toBe(false);
    expect((await status()).dispatchers).toMatchObject([{ ended: true }]);
    const later = await home.kanban("create", "waits", "--assignee", "default");
    expect(later.stderr).toContain("no dispatcher is running for the board");
    const why = await home.kanban("why", later.stdout.trim(), "--json");
    expect(why.json()).toMatchObject({ reason: "no-dispatcher" });
  }, 600_000);

  it("a daemon starts real workers: a task is completed, and then the task that waits for it", async () => {
    await using home = await openHome();
    await home.kanban("init");
    await home.addProfile("coder");
    const daemon = home.start(["kanban", "daemon"]);
    try {
      const parent = await home.create("first", "--assignee", "coder");
      const child = await home.create("then", "--assignee", "coder", "--parent", parent);
      const statusOf = async (id: string) =>
        (await home.kanban("show", id, "--json")).json<{ task: { status: string } }>().task.status;
      await vi.waitFor(
        async () => expect([await statusOf(parent), await statusOf(child)]).toEqual(["done", "done"]),
        {
          ...WAIT,
          timeout: 600_000,
        },
      );
      const runs = (await home.kanban("runs", child, "--json")).json<readonly { outcome: string }[]>();
      expect(runs.map(({ outcome }) => outcome)).toEqual(["completed"]);
    } finally {
      daemon.child.kill("SIGINT");
      await daemon.ended;
    }
  }, 600_000);

  it("board G14, board G15: a profile that cannot run, was renamed or was removed is named by why and diagnostics", async () => {
    await using home = await openHome();
    const profiles = { broken: "kanban: [", renamed: "", vanished: "" };
    const ids: Record<string, string> = {};
    for (const [name, config] of Object.entries(profiles)) {
      const folder = await home.addProfile(name);
      if (config !== "") await writeFile(join(folder, "config.yaml"), config);
      ids[name] = await home.create(name, "--assignee", name);
    }
    const folder = join(home.path, "profiles");
    await rename(join(folder, "renamed"), join(folder, "newname"));
    await rm(join(folder, "vanished"), { recursive: true });
    const fine = await home.create("fine", "--assignee", "newname");
    const pass = (await home.kanban("dispatch", "--dry-run", "--json")).json<DryRun>();
    expect(pass.spawned.map(({ task_id }) => task_id)).toEqual([fine]);
    expect([...pass.skipped_nonspawnable].sort()).toEqual(Object.values(ids).sort());
    const found = (await home.kanban("diagnostics", "--json")).json<readonly Finding[]>();
    for (const [name, id] of Object.entries(ids)) {
      const why = (await home.kanban("why", id, "--json")).json<{ reason: string; text: string }>();
      expect(why).toMatchObject({ reason: "nonspawnable", text: expect.stringContaining(name) });
      const finding = {
        kind: "nonspawnable",
        severity: "warning",
        task_id: id,
        title: name,
        detail: why.text,
      };
      expect(found).toContainEqual(expect.objectContaining(finding));
    }
    expect(found).toHaveLength(3);
    expect((await home.kanban("diagnostics", "--severity", "error", "--json")).json()).toEqual([]);
    expect((await home.kanban("diagnostics", "--task", ids["broken"] ?? "")).stdout).toContain("broken");
  }, 600_000);

  it("diagnostics reports a ready task that is not started, with the reason, such as a paused board", async () => {
    await using home = await openHome({ HERMES_KANBAN_DIAGNOSTICS_STRANDED_THRESHOLD_SECONDS: "0" });
    const id = await home.create("mine", "--assignee", "default");
    await home.kanban("pause");
    const found = (await home.kanban("diagnostics", "--json")).json<readonly Finding[]>();
    expect(found).toMatchObject([{ kind: "stranded_in_ready", task_id: id }]);
    expect(found[0]?.detail).toContain("The board is paused.");
  });
});

describeWith("postgres", "hermes kanban daemon on PostgreSQL", ({ url }) => {
  it("serves all boards of its database, even one that is created later, and even after the server closed its connections", async () => {
    await using database = await openOwnDatabase(url);
    await using home = await openHome({
      HERMES_KANBAN_DATABASE_URL: database.url,
      HERMES_KANBAN_DISPATCH_INTERVAL_SECONDS: "3600",
    });
    await home.addProfile("coder");
    expect((await home.kanban("boards", "create", "ops")).exitCode).toBe(0);
    const daemon = home.startDaemon();
    const isDone = (board: string, id: string) =>
      vi.waitFor(
        async () => {
          const shown = await home.kanban("--board", board, "show", id, "--json");
          expect(shown.json<{ task: { status: string } }>().task.status).toBe("done");
        },
        { ...WAIT, timeout: 300_000 },
      );
    try {
      for (const board of ["default", "ops"])
        await isDone(board, await home.create("a", "--board", board, "--assignee", "coder"));
      await home.kanban("boards", "create", "late");
      await isDone("late", await home.create("b", "--board", "late", "--assignee", "coder"));
      await database.admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()",
        [database.name],
      );
      await isDone("ops", await home.create("c", "--board", "ops", "--assignee", "coder"));
    } finally {
      daemon.child.kill("SIGINT");
    }
    const ended = await daemon.ended;
    expect(ended.exitCode, ended.stderr).toBe(0);
  }, 600_000);
});

interface DryRun {
  readonly spawned: readonly { readonly task_id: string }[];
  readonly skipped_nonspawnable: readonly string[];
}

interface Finding {
  readonly kind: string;
  readonly task_id: string;
  readonly detail: string;
}

interface DispatchStatus {
  readonly lease?: { readonly pid: number; readonly live: boolean };
  readonly dispatchers: readonly {
    readonly last_tick_at: number;
    readonly outcomes: { readonly skipped_unassigned: number };
  }[];
}
