import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, vi } from "vitest";
import { type BoardStore, openBoardStore } from "../../src/board/board-store.ts";
import { endProcesses } from "../../src/board/supervisor/end-processes.ts";
import { findProcesses, runProcesses } from "../../src/board/supervisor/process-table.ts";
import type { Run, Task } from "../../src/board/task.ts";
import { boardMark, SUPERVISOR_MARK } from "../../src/board/worker/run-mark.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempHome } from "./hermes.ts";
import { scale } from "./scale.ts";

const WAIT = { timeout: 60_000, interval: 20 };
const SAMPLE_MS = 50;
const PROFILES = ["coder", "writer"];

export const ACTIONS = ["complete", "block", "archive", "reclaim", "reassign", "edit"] as const;
type Action = (typeof ACTIONS)[number];

/**
 * A set-up in which an operator interferes with every running task (see `ACTIONS`): a daemon with all caps at 1, and tasks
 * that share one folder, whose workers never end by themselves. Meanwhile the process table is sampled: there must never be
 * two runs at once, and no process may survive the end of its run by more than `scale.leavingMs`.
 */
export async function openOperatorStorm(databaseUrl = "") {
  const home = await tempHome();
  const slug = `storm-${randomBytes(6).toString("hex")}`;
  const env = {
    HERMES_KANBAN_BOARD: slug,
    ...(databaseUrl !== "" && { HERMES_KANBAN_DATABASE_URL: databaseUrl }),
  };
  const hermes = async (...args: readonly string[]) => {
    const result = await home.hermes(["kanban", ...args], { env });
    expect(result.exitCode, `${args.join(" ")}: ${result.stderr}`).toBe(0);
    return result;
  };
  // As `turns`, whose answers start again at each prompt: a run continues the previous run's session, where plain `answers`
  // would already be used up.
  const answers = [{ tools: [{ name: "terminal", input: { command: "sleep 300" } }] }];
  const script = { turns: [{ when: "work kanban task", answers }] };
  for (const name of PROFILES) {
    const profile = join(home.path, "profiles", name);
    await mkdir(profile, { recursive: true, mode: 0o700 });
    await writeFile(join(profile, "script.json"), JSON.stringify(script));
    const model = `model:\n  provider: scripted\n  default: ${join(profile, "script.json")}\n`;
    await writeFile(join(profile, "config.yaml"), model);
  }
  await writeFile(
    join(home.path, "config.yaml"),
    "kanban:\n  max_spawn: 1\n  max_in_progress: 1\n  max_in_progress_per_profile: 1\n",
  );
  await hermes("boards", "create", slug);
  const location = { root: home.path, databaseUrl, slug };
  const store = await openBoardStore(location, { connections: 2 }, neverAborted);
  const mark = boardMark(store.identity);
  const daemon = home.start(["kanban", "daemon"], { env, cwd: home.folder });
  const folder = join(home.folder, "shared");
  const stop = new AbortController();
  const watched = watchProcesses(store, mark, stop.signal);

  return {
    store,
    /** Does the action on a task whose worker is running, and checks the result. */
    async act(action: Action): Promise<void> {
      await keepReady(store, folder);
      const { task, run } = await waitForRunning(store, mark);
      const other = task.assignee === "coder" ? "writer" : "coder";
      const words = {
        complete: ["complete", task.id, "--summary", "by hand"],
        block: ["block", task.id, "not now"],
        archive: ["archive", task.id],
        reclaim: ["reclaim", task.id, "--reason", "wrong way"],
        reassign: ["reassign", task.id, other, "--reclaim"],
        edit: ["edit", task.id, "--priority", "7"],
      }[action];
      await hermes(...words);
      const after = await store.show(task.id, neverAborted);
      expect(after.runs.find(({ id }) => id === run.id)).toMatchObject(
        {
          complete: { outcome: "completed" },
          block: { outcome: "blocked" },
          archive: { outcome: "reclaimed" },
          reclaim: { outcome: "reclaimed", error: "wrong way" },
          reassign: { outcome: "reclaimed", error: `reassigned to ${other}` },
          edit: { outcome: null },
        }[action],
      );
      if (action === "reassign") expect(after.task.assignee).toBe(other);
      if (action === "edit") expect(after.task).toMatchObject({ status: "running", priority: 7 });
    },
    /** Ends the daemon and returns what was observed. */
    async finish(): Promise<{ readonly samples: number; readonly breaches: readonly string[] }> {
      daemon.child.kill("SIGTERM");
      await daemon.ended;
      stop.abort();
      const seen = await watched;
      expect(await store.check(neverAborted)).toEqual([]);
      return seen;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watched;
      daemon.child.kill("SIGKILL");
      await daemon.ended;
      await endProcesses({ variable: SUPERVISOR_MARK, mark }, 0);
      await endProcesses(runProcesses(mark), 0);
      await store[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** Ensures that three tasks are ready, all in one folder. */
async function keepReady(store: BoardStore, folder: string): Promise<void> {
  const operator = store.as({ kind: "operator", name: "alice" });
  const { tasks } = await store.list({ order: "created", limit: 1_000 }, neverAborted);
  for (let ready = tasks.filter(({ status }) => status === "ready").length; ready < 3; ready++)
    await operator.create(
      {
        title: `task ${tasks.length}-${ready}`,
        assignee: PROFILES[ready % 2] ?? "",
        workspaceKind: "dir",
        workspacePath: folder,
      },
      neverAborted,
    );
}

/** Waits for a task whose worker has started its command: the worker, a shell and `sleep` are running. */
function waitForRunning(
  store: BoardStore,
  mark: string,
): Promise<{ readonly task: Task; readonly run: Run }> {
  return vi.waitFor(async () => {
    const { tasks } = await store.list({ order: "created", limit: 1_000 }, neverAborted);
    const task = tasks.find(({ status }) => status === "running");
    const run = task && (await store.findRun(task.current_run_id ?? 0, neverAborted));
    const processes = run ? await findProcesses(runProcesses(`${mark}${run.task_id}.${run.id}r`)) : [];
    if (task === undefined || run === undefined || processes.length < 3)
      throw new Error("no worker is running");
    return { task, run };
  }, WAIT);
}

async function watchProcesses(store: BoardStore, mark: string, signal: AbortSignal) {
  const breaches: string[] = [];
  let samples = 0;
  for (; !signal.aborted; samples++) {
    const found = await findProcesses(runProcesses(mark));
    const runs = new Map(found.flatMap((one) => (one.mark === undefined ? [] : [[one.mark, one.pid]])));
    if (runs.size > 1) breaches.push(`two runs at once: ${[...runs.keys()].join(", ")}`);
    for (const [name, pid] of runs) {
      const runId = Number(/\.(\d+)r$/.exec(name)?.[1]);
      const endedAt = (await store.findRun(runId, neverAborted))?.ended_at ?? null;
      const lateMs = endedAt === null ? 0 : Date.now() - endedAt;
      if (lateMs > scale.leavingMs && isRunning(pid))
        breaches.push(`process ${pid} still runs ${lateMs} ms after its run ${runId}`);
    }
    await sleep(SAMPLE_MS);
  }
  return { samples, breaches };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
