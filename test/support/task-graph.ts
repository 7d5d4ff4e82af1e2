import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { openBoardStore } from "../../src/board/board-store.ts";
import { liftGuards } from "../../src/board/dispatcher/transactions/record-notices.ts";
import { type HermesRun, tempHome } from "./hermes.ts";
import { scale } from "./scale.ts";

const OPERATOR = { kind: "operator", name: "alice" } as const;
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
    // If the call failed because the board was unreachable, the worker gets a reminder, as with any model.
    {
      when: "You have stopped, but",
      answers: [{ tools: [{ name: "kanban_complete", input: { summary: "did it" } }] }, { text: "done" }],
    },
  ],
};

export interface TaskGraph extends AsyncDisposable {
  /** Keeps `daemons` daemons running until all tasks are done, while `trouble` disturbs them; then checks every run. */
  completeAll(daemons: number, trouble?: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Lets daemons work until some tasks are done and some are running, and then kills all processes at once. */
  workUntilKilled(daemons: number): Promise<void>;
  /** Kills random processes for a while. */
  killRandomly(signal: AbortSignal): Promise<void>;
  countDone(): Promise<number>;
}

/** A home with three profiles, and a board with layers of four tasks; each task waits for two tasks of the previous layer. */
export async function openTaskGraph({
  databaseUrl = "",
  maxRetries,
}: {
  readonly databaseUrl?: string;
  /** Failures that a task may have; by default as many as the settings allow. */
  readonly maxRetries?: number;
} = {}): Promise<TaskGraph> {
  const home = await tempHome();
  const board = `graph-${randomBytes(6).toString("hex")}`;
  const env = {
    HERMES_KANBAN_BOARD: board,
    // Shorter than the defaults, which would only make the test wait longer for a pass or for the crash of a worker.
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

  /**
   * Reads the board directly: running the program for each poll would slow the workers down. With `skipsPauses`, tasks that
   * pause after a failure start at once, as after `hermes kanban unguard`.
   */
  const statuses = async ({ skipsPauses = false } = {}): Promise<readonly string[]> => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const location = { root: home.path, databaseUrl, slug: board };
    try {
      await using store = await openBoardStore(location, { connections: 1 }, signal);
      const { tasks } = await store.list({ order: "created", limit: 1_000 }, signal);
      for (const { id, status, not_before } of tasks)
        if (skipsPauses && status === "ready" && not_before !== null)
          await store.forDispatcher.write(OPERATOR, (transaction) => liftGuards(transaction, id), signal);
      return tasks.map(({ status }) => status);
    } catch {
      return []; // the database may be unreachable at the moment
    }
  };
  const countDone = async (): Promise<number> =>
    (await statuses()).filter((status) => status === "done").length;

  return {
    countDone,
    async completeAll(daemons, trouble = async () => undefined) {
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
        const isDone = (status: string): boolean => status === "done";
        const count = async () => (await statuses({ skipsPauses: scale.skipsPauses })).filter(isDone).length;
        await expect.poll(count, { timeout: WITHIN_MS, interval: 500 }).toBe(scale.graphTasks);
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
      const enough = 1 + Math.floor((Math.random() * scale.graphTasks) / 2);
      const started = Array.from({ length: daemons }, startDaemon);
      const isFarEnough = async (): Promise<boolean> => {
        const now = await statuses();
        if (now.filter((status) => status === "done").length < enough || !now.includes("running"))
          return false;
        // Suspended first, so that none of them can exit between the count and the kill.
        const pids = await processesOf(home.folder);
        for (const pid of pids) kill(pid, "SIGSTOP");
        const isEnough = (await processesOf(home.folder)).length > daemons;
        if (!isEnough) for (const pid of pids) kill(pid, "SIGCONT");
        return isEnough;
      };
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
  const retryFlags = maxRetries === undefined ? [] : ["--max-retries", String(maxRetries)];
  const ids: string[] = [];
  for (let number = 0; number < scale.graphTasks; number++) {
    const parents = number < 4 ? [] : [ids[number - 4], ids[number % 4 === 3 ? number - 7 : number - 3]];
    const flags = ["--assignee", PROFILES[number % 3] ?? "", ...retryFlags, "--json"];
    const links = parents.flatMap((id) => ["--parent", id ?? ""]);
    const created = await run(["kanban", "create", `task ${number}`, ...flags, ...links]);
    ids.push(created.json<TaskRow>().id);
  }
  return ids;
}

/** Expects exactly one completed run, and no two runs at the same time. */
function expectDoneOnce(runs: readonly RunRow[]): void {
  expect(runs.filter(({ outcome }) => outcome === "completed")).toHaveLength(1);
  const inOrder = runs.toSorted((one, other) => one.started_at - other.started_at);
  for (const [index, { started_at }] of inOrder.entries()) {
    const before = inOrder[index - 1];
    if (before) expect(before.ended_at ?? Infinity).toBeLessThanOrEqual(started_at);
  }
}

/** Processes with this folder in their environment: daemons, supervisors, workers and their children. */
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

/** Kills all processes at once, then those that were started meanwhile. Resolves with the number of killed processes. */
async function killEverything(folder: string): Promise<number> {
  for (let killed = 0; ; ) {
    const pids = await processesOf(folder);
    if (pids.length === 0) return killed;
    killed += pids.length;
    for (const pid of pids) kill(pid);
  }
}

function kill(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" }); // it had already exited
  }
}
