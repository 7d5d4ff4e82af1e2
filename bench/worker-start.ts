import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openBoardStore } from "../src/board/board-store.ts";
import type { BoardLocation } from "../src/board/open-board.ts";
import { loggedRuns, runLogPath, taskLogFolder } from "../src/board/supervisor/log/run-log.ts";
import { neverAborted } from "../src/lib/time/never-aborted.ts";
import { type Measurement, median, milliseconds } from "./bench.ts";

const ROUNDS = 7;
const ENTRY = resolve("dist/main.cjs");
const PROFILE = "worker";
const WITHIN_MS = 30_000;

const SCRIPT = {
  turns: [
    {
      when: "work kanban task",
      answers: [
        { text: "I start.\n\n", tools: [{ name: "kanban_complete", input: { summary: "done" } }] },
        { text: "Done." },
      ],
    },
  ],
};

/** The time from a ready task to the first line of its worker, compared with the same command started by hand. */
export async function measureWorkerStart(folder: string): Promise<Measurement> {
  const root = join(folder, "home");
  const home = join(root, "profiles", PROFILE);
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, "script.json"), JSON.stringify(SCRIPT));
  const model = `model:\n  provider: scripted\n  default: ${join(folder, "script.json")}\n`;
  await writeFile(join(home, "config.yaml"), model);
  // An hour between passes, so that only a wake-up can start a task.
  await writeFile(join(root, "config.yaml"), "kanban:\n  dispatch_interval_seconds: 3600\n");
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, HERMES_HOME: root };
  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [ENTRY, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });

  const location: BoardLocation = { root, databaseUrl: "", slug: "default" };
  await using store = await openBoardStore(location, {}, neverAborted);
  const person = store.as({ kind: "operator", name: "bench" });

  /** Milliseconds until the worker of a new task has printed a line; returns when the task is done. */
  async function dispatched(): Promise<number> {
    const startedAt = performance.now();
    const { task } = await person.create({ title: "a task", assignee: PROFILE }, neverAborted);
    const folderOfLogs = taskLogFolder(root, location.slug, task.id);
    const log = async (): Promise<string> => {
      const runId = loggedRuns(folderOfLogs).at(-1);
      return runId === undefined ? "" : readFile(runLogPath(root, location.slug, task.id, runId), "utf8");
    };
    await until(async () => (await log()).includes("\n"));
    const ms = performance.now() - startedAt;
    // The last line of its supervisor; after that nothing disturbs the next measurement.
    await until(async () => (await log()).includes("[hermes] run"));
    const { task: after } = await store.show(task.id, neverAborted);
    if (after.status !== "done") throw new Error(`the task is ${after.status}`);
    return ms;
  }

  async function bare(): Promise<number> {
    const startedAt = performance.now();
    const child = start(["-p", PROFILE, "chat", "-q", "work kanban task t_0"]);
    const closed = once(child, "close");
    let ms: number | undefined;
    child.stderr?.resume();
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes("\n")) ms ??= performance.now() - startedAt;
    });
    await closed;
    if (ms === undefined) throw new Error("the worker command printed nothing");
    return ms;
  }

  const daemon = start(["kanban", "daemon"]);
  daemon.stdout?.resume();
  const found = { ours: [] as number[], peer: [] as number[] };
  try {
    await once(daemon.stderr ?? daemon, "data"); // the daemon reports that it dispatches
    for (let round = 0; round < ROUNDS + 1; round++) {
      const [ours, peer] = [await dispatched(), await bare()];
      if (round === 0) continue; // warms the caches
      found.ours.push(ours);
      found.peer.push(peer);
    }
  } finally {
    daemon.kill("SIGTERM");
    if (daemon.exitCode === null) await once(daemon, "exit");
  }
  const [ours, peer] = [median(found.ours), median(found.peer)];
  return {
    name: "from a ready task to its worker's first line ÷ the same command by hand",
    ours: milliseconds(ours),
    peer: milliseconds(peer),
    ratio: ours / peer,
    budget: { max: 3 },
  };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`the condition was not met within ${WITHIN_MS} ms: ${holds}`);
    await sleep(5);
  }
}
