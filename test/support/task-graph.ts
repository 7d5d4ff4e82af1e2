import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { openBoardStore } from "../../src/board/board-store.ts";
import { type HermesRun, tempHome } from "./hermes.ts";
import { scale } from "./scale.ts";

const PROFILES = ["alpha", "beta", "gamma"];
const ANSWER_MS = 60_000;
const WITHIN_MS = 1_500_000;

interface TaskRow {
  readonly id: string;
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
    // Its call may have failed because the board was away; then it is reminded, as any model is.
    {
      when: "You have stopped, but",
      answers: [{ tools: [{ name: "kanban_complete", input: { summary: "did it" } }] }, { text: "done" }],
    },
  ],
};

export interface TaskGraph extends AsyncDisposable {
  /** Keeps so many daemons alive until all tasks are done, with some trouble meanwhile; then looks at every run. */
  workOff(daemons: number, trouble?: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Lets daemons work until some are done and some are at it, and then kills all processes at one instant. */
  workUntilKilled(daemons: number): Promise<void>;
  /** Kills one process or another for a while. */
  killRandomly(signal: AbortSignal): Promise<void>;
  countDone(): Promise<number>;
}

/** A home with three profiles, and a board with tasks in layers of four of which each waits for two of the one before. */
export async function openTaskGraph({
  databaseUrl = "",
  maxRetries,
}: {
  readonly databaseUrl?: string;
  /** Failures that a task may have; left out, as many as the settings allow. */
  readonly maxRetries?: number;
} = {}): Promise<TaskGraph> {
  const home = await tempHome();
  const board = `graph-${randomBytes(6).toString("hex")}`;
  const env = {
    HERMES_KANBAN_BOARD: board,
    // Nobody learns more by waiting a minute for the next pass, or half of one to believe that a worker has gone.
    HERMES_KANBAN_DISPATCH_INTERVAL_SECONDS: "2",
    HERMES_KANBAN_CRASH_GRACE_SECONDS: "2",
    ...(databaseUrl !== "" && { HERMES_KANBAN_DATABASE_URL: databaseUrl }),
  };
  const hermes = (args: readonly string[]): Promise<HermesRun> => home.hermes(args, { env });
  const expectOk = async (args: readonly string[]): Promise<HermesRun> => {
    const result = await hermes(args);
    expect(result.exitCode, `${args.join(" ")}: ${result.stderr}`).toBe(0);
    return result;
  };
  const startDaemon = () => home.start(["kanban", "daemon"], { env, cwd: home.folder });
  const script = join(home.folder, "script.json");
  await writeFile(script, JSON.stringify(SCRIPT));
  for (const profile of PROFILES) {
    await expectOk(["profile", "create", profile]);
    await expectOk(["-p", profile, "config", "set", "model.default", `scripted:${script}`]);
  }
  await expectOk(["kanban", "boards", "create", board]);
  const ids = await createTasks(expectOk, maxRetries);

  /** Not through the program: this is asked all the time, and would take the machine from those who work. */
  const count = async (wanted: string): Promise<number> => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const place = { root: home.path, databaseUrl, slug: board };
    try {
      await using store = await openBoardStore(place, { connections: 1 }, signal);
      const { tasks } = await store.list({ order: "created", limit: 1_000 }, signal);
      return tasks.filter(({ status }) => status === wanted).length;
    } catch {
      return 0; // its database may be what is in trouble
    }
  };
  const countDone = (): Promise<number> => count("done");

  return {
    countDone,
    async workOff(daemons, trouble = async () => undefined) {
      const stop = new AbortController();
      const keepDaemon = async (): Promise<void> => {
        while (!stop.signal.aborted) {
          const { child, ended } = startDaemon();
          const end = (): void => void child.kill("SIGTERM");
          stop.signal.addEventListener("abort", end, { once: true });
          await ended;
          stop.signal.removeEventListener("abort", end);
        }
      };
      const calm = new AbortController();
      const running = Array.from({ length: daemons }, keepDaemon);
      const troubled = trouble(calm.signal);
      try {
        await troubled;
        await expect.poll(countDone, { timeout: WITHIN_MS, interval: 1_000 }).toBe(scale.graphTasks);
      } finally {
        calm.abort();
        stop.abort();
        await Promise.allSettled([troubled, ...running]);
      }
      for (const id of ids) {
        const { json } = await expectOk(["kanban", "runs", id, "--json"]);
        expectDoneOnce(json<RunRow[]>());
      }
    },
    async workUntilKilled(daemons) {
      const enough = 2 + Math.floor((Math.random() * scale.graphTasks) / 2);
      const started = Array.from({ length: daemons }, startDaemon);
      const isFarEnough = async (): Promise<boolean> =>
        (await countDone()) >= enough &&
        (await count("running")) > 0 &&
        (await processesOf(home.folder)).length > daemons;
      await expect.poll(isFarEnough, { timeout: WITHIN_MS, interval: 100 }).toBe(true);
      expect(await killEverything(home.folder)).toBeGreaterThan(daemons);
      for (const { ended } of started) expect((await ended).exitCode).toBeNull();
    },
    async killRandomly(signal) {
      const until = performance.now() + scale.troubleMs;
      while (!signal.aborted && performance.now() < until) {
        await sleep(400 + Math.random() * 1_200);
        const pids = await processesOf(home.folder, { onlyOurs: true });
        kill(pids[Math.floor(Math.random() * pids.length)]);
      }
    },
    async [Symbol.asyncDispose]() {
      await killEverything(home.folder);
      await hermes(["kanban", "boards", "rm", board, "--delete", "--yes"]);
      await home[Symbol.asyncDispose]();
    },
  };
}

async function createTasks(
  run: (args: readonly string[]) => Promise<HermesRun>,
  maxRetries: number | undefined,
): Promise<readonly string[]> {
  const patience = maxRetries === undefined ? [] : ["--max-retries", String(maxRetries)];
  const ids: string[] = [];
  for (let number = 0; number < scale.graphTasks; number++) {
    const parents = number < 4 ? [] : [ids[number - 4], ids[number % 4 === 3 ? number - 7 : number - 3]];
    const flags = ["--assignee", PROFILES[number % 3] ?? "", ...patience, "--json"];
    const links = parents.flatMap((id) => ["--parent", id ?? ""]);
    const created = await run(["kanban", "create", `task ${number}`, ...flags, ...links]);
    ids.push(created.json<TaskRow>().id);
  }
  return ids;
}

/** Exactly one run completed it, and no two were open at the same time. */
function expectDoneOnce(runs: readonly RunRow[]): void {
  expect(runs.filter(({ outcome }) => outcome === "completed")).toHaveLength(1);
  const inOrder = runs.toSorted((one, other) => one.started_at - other.started_at);
  for (const [index, { started_at }] of inOrder.entries()) {
    const before = inOrder[index - 1];
    if (before) expect(before.ended_at ?? Infinity).toBeLessThanOrEqual(started_at);
  }
}

/** Processes with this folder in their environment: daemons, supervisors, workers, and what those have started. */
async function processesOf(folder: string, { onlyOurs = false } = {}): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const read = (name: string, file: string) => readFile(`/proc/${name}/${file}`, "utf8").catch(() => "");
  const found = await Promise.all(
    names.map(async (name) => {
      if (!(await read(name, "environ")).includes(folder)) return [];
      return !onlyOurs || (await read(name, "cmdline")).includes("main.cjs") ? [Number(name)] : [];
    }),
  );
  return found.flat();
}

/** All at one instant; whatever was started in that instant, right after it. Resolves with how many there were. */
async function killEverything(folder: string): Promise<number> {
  for (let killed = 0; ; ) {
    const pids = await processesOf(folder);
    if (pids.length === 0) return killed;
    killed += pids.length;
    for (const pid of pids) kill(pid);
  }
}

function kill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" }); // it had ended
  }
}
