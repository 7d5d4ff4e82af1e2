import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type BoardPlace, openBoardStore } from "../src/board/board-store.ts";
import { loggedRuns, runLogPath, taskLogFolder } from "../src/board/worker/run-log.ts";
import { type Measurement, median, milliseconds } from "./bench.ts";

const ROUNDS = 7;
const ENTRY = resolve("dist/main.cjs");
const PROFILE = "worker";
const WITHIN_MS = 30_000;
const never = new AbortController().signal;

const SCRIPT = {
  turns: [
    {
      when: "work kanban task",
      answers: [
        { text: "I begin.\n\n", tools: [{ name: "kanban_complete", input: { summary: "done" } }] },
        { text: "Done." },
      ],
    },
  ],
};

/** From a task that is ready to the first line of its worker, beside the same command started by hand. */
export async function measureWorkerStart(folder: string): Promise<Measurement> {
  const root = join(folder, "home");
  const home = join(root, "profiles", PROFILE);
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, "script.json"), JSON.stringify(SCRIPT));
  const model = `model:\n  provider: scripted\n  default: ${join(folder, "script.json")}\n`;
  await writeFile(join(home, "config.yaml"), model);
  // An hour between passes: whatever starts was started by a wake-up.
  await writeFile(join(root, "config.yaml"), "kanban:\n  dispatch_interval_seconds: 3600\n");
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, HERMES_HOME: root };
  const start = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [ENTRY, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });

  const place: BoardPlace = { root, databaseUrl: "", slug: "default" };
  await using store = await openBoardStore(place, {}, never);
  const person = store.as({ kind: "operator", name: "bench" });

  /** Milliseconds until its worker has printed a line; returns when the task is done. */
  async function dispatched(): Promise<number> {
    const startedAt = performance.now();
    const { task } = await person.create({ title: "a task", assignee: PROFILE }, never);
    const folderOfLogs = taskLogFolder(root, place.slug, task.id);
    const log = async (): Promise<string> => {
      const runId = loggedRuns(folderOfLogs).at(-1);
      return runId === undefined ? "" : readFile(runLogPath(root, place.slug, task.id, runId), "utf8");
    };
    await until(async () => (await log()).includes("\n"));
    const ms = performance.now() - startedAt;
    // Its supervisor's last word: from then on nothing disturbs the next measurement.
    await until(async () => (await log()).includes("[hermes] run"));
    const { task: after } = await store.show(task.id, never);
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
    if (ms === undefined) throw new Error("the worker command has printed nothing");
    return ms;
  }

  const daemon = start(["kanban", "daemon"]);
  daemon.stdout?.resume();
  const found = { ours: [] as number[], peer: [] as number[] };
  try {
    await once(daemon.stderr ?? daemon, "data"); // it says that it dispatches
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
    name: "a task is ready until its worker's first line ÷ that command by hand",
    ours: milliseconds(ours),
    peer: milliseconds(peer),
    ratio: ours / peer,
    budget: { max: 3 },
  };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`it did not happen within ${WITHIN_MS} ms: ${holds}`);
    await sleep(5);
  }
}
