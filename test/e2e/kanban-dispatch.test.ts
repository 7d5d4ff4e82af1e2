import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { tempHome } from "../support/hermes.ts";

const WAIT = { timeout: 60_000, interval: 100 };

interface Created {
  readonly id: string;
}

describe("hermes kanban dispatch", () => {
  async function openHome() {
    const home = await tempHome();
    const kanban = (...words: string[]) => home.hermes(["kanban", ...words]);
    return {
      ...home,
      kanban,
      async create(title: string, ...words: string[]): Promise<string> {
        const made = await kanban("create", title, "--json", ...words);
        expect(made.exitCode, made.stderr).toBe(0);
        return made.json<Created>().id;
      },
    };
  }

  it("a dry run says what would start, what would not and why, and changes nothing", async () => {
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
    expect((await home.kanban("dispatch", "--dry-run")).stdout).toContain("1 task would be started");
  });

  it("a pass without room starts nothing, names each task, and is on record", async () => {
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

  it("why says the one reason, and unguard and reassign are what it says", async () => {
    await using home = await openHome();
    const id = await home.create("mine", "--assignee", "nobody-here");
    const why = await home.kanban("why", id, "--json");
    expect(why.json()).toMatchObject({ task_id: id, reason: "nonspawnable" });
    expect((await home.kanban("why", id)).stdout).toContain(`hermes kanban assign ${id}`);
    const given = await home.kanban("reassign", id, "default", "--reclaim", "--json");
    expect(given.json()).toMatchObject({ id, assignee: "default" });
    expect((await home.kanban("why", id, "--json")).json()).toMatchObject({ reason: "no-dispatcher" });
    expect((await home.kanban("unguard", id, "--json")).json()).toMatchObject({ id, status: "ready" });
    const wrong = await home.kanban("why", "t_000000000000");
    expect(wrong.exitCode).toBe(1);
    expect(wrong.stderr).toContain("There is no task");
  });

  it("a claim by hand is taken back for another profile, with its run", async () => {
    await using home = await openHome();
    const id = await home.create("mine", "--assignee", "default");
    expect((await home.kanban("claim", id)).exitCode).toBe(0);
    const refused = await home.kanban("reassign", id, "other");
    expect(refused.exitCode).toBe(1);
    const given = await home.kanban("reassign", id, "other", "--reclaim", "--json");
    expect(given.json(), given.stderr).toMatchObject({ id, assignee: "other", status: "ready" });
  });

  it("a daemon leads its boards, hears of a new task at once, and ends well when it is asked to", async () => {
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
  }, 180_000);

  it("a daemon starts real workers: a task is worked off, and then the one that waits for it", async () => {
    await using home = await openHome();
    await home.kanban("init");
    const profile = join(home.path, "profiles", "coder");
    await mkdir(profile, { recursive: true, mode: 0o700 });
    const script = { answers: [{ tools: [{ name: "kanban_complete", input: { summary: "all done" } }] }] };
    await writeFile(join(profile, "script.json"), JSON.stringify(script));
    await writeFile(
      join(profile, "config.yaml"),
      `model:\n  provider: scripted\n  default: ${join(profile, "script.json")}\n`,
    );
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
          timeout: 120_000,
        },
      );
      const runs = (await home.kanban("runs", child, "--json")).json<readonly { outcome: string }[]>();
      expect(runs.map(({ outcome }) => outcome)).toEqual(["completed"]);
    } finally {
      daemon.child.kill("SIGINT");
      await daemon.ended;
    }
  }, 180_000);
});

interface DispatchStatus {
  readonly lease?: { readonly pid: number; readonly live: boolean };
  readonly dispatchers: readonly {
    readonly last_tick_at: number;
    readonly outcomes: { readonly skipped_unassigned: number };
  }[];
}
