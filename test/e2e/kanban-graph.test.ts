import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { tempHome } from "../support/hermes.ts";
import { describeWith } from "../support/services.ts";

const run = promisify(execFile);
const PROFILES = ["alpha", "beta", "gamma"];
const TASKS = 20;
const WITHIN_MS = 240_000;

type Home = Awaited<ReturnType<typeof tempHome>>;
type Env = Readonly<Record<string, string>>;

interface TaskRow {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}

interface RunRow {
  readonly outcome: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
}

const SCRIPT = {
  turns: [
    {
      when: "work kanban task",
      answers: [
        { tools: [{ name: "terminal", input: { command: "sleep 0.3" } }] },
        { tools: [{ name: "kanban_complete", input: { summary: "did it" } }] },
        { text: "done" },
      ],
    },
  ],
};

/** Three profiles, and twenty tasks in five layers of which each waits for two of the one before. */
async function openGraph(home: Home, env: Env): Promise<string[]> {
  const script = join(home.folder, "script.json");
  await writeFile(script, JSON.stringify(SCRIPT));
  for (const profile of PROFILES) {
    await expectOk(home, ["profile", "create", profile], env);
    await expectOk(home, ["-p", profile, "config", "set", "model.default", `scripted:${script}`], env);
  }
  const ids: string[] = [];
  for (let number = 0; number < TASKS; number++) {
    const parents = number < 4 ? [] : [ids[number - 4], ids[number % 4 === 3 ? number - 7 : number - 3]];
    const args = [
      "kanban",
      "create",
      `task ${number}`,
      "--assignee",
      PROFILES[number % 3] ?? "",
      "--max-retries",
      "50",
      "--json",
    ];
    const { stdout } = await expectOk(
      home,
      [...args, ...parents.flatMap((id) => ["--parent", id ?? ""])],
      env,
    );
    ids.push((JSON.parse(stdout) as TaskRow).id);
  }
  return ids;
}

async function expectOk(home: Home, args: readonly string[], env: Env) {
  const result = await home.hermes(args, { env, cwd: home.folder });
  expect(result.exitCode, `${args.join(" ")}: ${result.stderr}`).toBe(0);
  return result;
}

async function statusOf(home: Home, env: Env): Promise<readonly TaskRow[]> {
  const result = await home.hermes(["kanban", "list", "--json"], { env, cwd: home.folder });
  return result.exitCode === 0 ? result.json<TaskRow[]>() : [];
}

/** All done, each by exactly one completed run, and no two runs of a task at the same time. */
async function expectWorkedOff(home: Home, ids: readonly string[], env: Env): Promise<void> {
  for (const id of ids) {
    const runs = (await expectOk(home, ["kanban", "runs", id, "--json"], env)).json<RunRow[]>();
    expect(runs.filter(({ outcome }) => outcome === "completed")).toHaveLength(1);
    const inOrder = runs.toSorted((one, other) => one.started_at - other.started_at);
    for (const [index, { started_at }] of inOrder.entries()) {
      const before = inOrder[index - 1];
      if (before) expect(before.ended_at ?? Infinity).toBeLessThanOrEqual(started_at);
    }
  }
}

/** Processes of this home: daemons, supervisors and workers alike. */
async function processesOf(home: Home): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    const environ = await readFile(`/proc/${name}/environ`, "utf8").catch(() => "");
    const args = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    if (environ.includes(home.folder) && args.includes("main.js")) found.push(Number(name));
  }
  return found;
}

async function killRandomly(home: Home, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(400 + Math.random() * 1_200);
    const pids = await processesOf(home);
    const pid = pids[Math.floor(Math.random() * pids.length)];
    if (pid !== undefined) await run("kill", ["-9", String(pid)]).catch(() => undefined); // it may be gone already
  }
}

async function workOff(
  home: Home,
  ids: readonly string[],
  env: Env,
  daemons: number,
  kills: number,
): Promise<void> {
  const stop = new AbortController();
  const keepDaemon = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { child, ended } = home.start(["kanban", "daemon"], { env, cwd: home.folder });
      const end = (): void => void child.kill("SIGTERM");
      stop.signal.addEventListener("abort", end, { once: true });
      await ended;
      stop.signal.removeEventListener("abort", end);
    }
  };
  const running = Array.from({ length: daemons }, keepDaemon);
  const calm = new AbortController();
  const killing = kills > 0 ? killRandomly(home, calm.signal) : Promise.resolve();
  const timer = setTimeout(() => calm.abort(), kills);
  try {
    const done = async (): Promise<number> =>
      (await statusOf(home, env)).filter(({ status }) => status === "done").length;
    await expect.poll(done, { timeout: WITHIN_MS, interval: 1_000 }).toBe(TASKS);
  } finally {
    clearTimeout(timer);
    calm.abort();
    await killing;
    stop.abort();
    await Promise.all(running);
  }
  await expectWorkedOff(home, ids, env);
}

describe("three profiles work off twenty dependent tasks", () => {
  test("with workers, supervisors and daemons killed at random, each is done by exactly one run", async () => {
    await using home = await tempHome();
    const env = {};
    const ids = await openGraph(home, env);
    await workOff(home, ids, env, 1, 20_000);
  }, 400_000);
});

describeWith("postgres", "three profiles on PostgreSQL", (service) => {
  test("with two daemons and kills, each of twenty tasks is done by exactly one run", async () => {
    await using home = await tempHome();
    const board = `graph-${process.pid}`;
    const env = { HERMES_KANBAN_DATABASE_URL: service.url, HERMES_KANBAN_BOARD: board };
    await expectOk(home, ["kanban", "boards", "create", board], env);
    const ids = await openGraph(home, env);
    await workOff(home, ids, env, 2, 20_000);
    await expectOk(home, ["kanban", "boards", "rm", board, "--delete", "--yes"], env);
  }, 400_000);
});
