import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { boardPath } from "../../src/board/board-slug.ts";
import { openBoardStore } from "../../src/board/board-store.ts";
import type { ChildLimits } from "../../src/board/caller.ts";
import { openHostSlots } from "../../src/board/dispatcher/host-slots.ts";
import { liftGuards } from "../../src/board/dispatcher/transactions/record-notices.ts";
import type { BoardLocation } from "../../src/board/open-board.ts";
import type { ClaimedTask } from "../../src/board/operations/runs/claim.ts";
import type { NewTask } from "../../src/board/operations/tasks/create-task.ts";
import { endProcesses } from "../../src/board/supervisor/end-processes.ts";
import { runLogPath } from "../../src/board/supervisor/log/run-log.ts";
import { findProcesses, runProcesses } from "../../src/board/supervisor/process-table.ts";
import { startSupervisor } from "../../src/board/supervisor/start-supervisor.ts";
import { createWorkerHost } from "../../src/board/supervisor/worker-host.ts";
import type { Run } from "../../src/board/task.ts";
import { boardMark, RUN_MARK, runMark, SUPERVISOR_MARK } from "../../src/board/worker/run-mark.ts";
import type { RunOrder } from "../../src/board/worker/run-order.ts";
import { pickPublicVariables, workerVariables } from "../../src/board/worker/worker-variables.ts";
import { loadSqlite } from "../../src/lib/sqlite/sqlite.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { tempFolder } from "./temp-folder.ts";

const Sqlite = await loadSqlite();

export const PROGRAM = [
  process.execPath,
  fileURLToPath(new URL("../../dist/main.cjs", import.meta.url)),
] as const;
const run = promisify(execFile);
const POLICY = { failureLimit: 5, failureRetryMs: 0, rateLimitCooldownMs: 1_000 };
const HOST = "host-of-test";
const OPERATOR = { kind: "operator", name: "alice" } as const;
/** Ends hanging tests; long enough for a busy machine. */
const WITHIN_MS = 150_000;

/**
 * A lease that expires within a test but survives a machine that stalls for ten seconds: a supervisor must start within half
 * of it, and has a third of it for a renewal.
 */
export const SHORT_LEASE_MS = 30_000;

/**
 * A root home with a board and profiles whose models follow scripts; all its processes are ended at the end. With `diskBytes`
 * the home is a separate disk of that size, which requires permission to mount. The lease of its runs is long enough for a
 * slow machine.
 */
export async function openWorkerLab({
  leaseMs = 300_000,
  variables = {} as Record<string, string>,
  databaseUrl = "",
  slug = "default",
  diskBytes = 0,
} = {}) {
  const folder = await tempFolder();
  const root = folder.file("home");
  await mkdir(root, { mode: 0o700 });
  if (diskBytes > 0) await run("mount", ["-t", "tmpfs", "-o", `size=${diskBytes},mode=700`, "tmpfs", root]);
  const location: BoardLocation = { root, databaseUrl, slug };
  const store = await openBoardStore(location, {}, neverAborted);
  const operator = store.as(OPERATOR);
  const system = store.as({ kind: "system", name: "dispatcher" });
  const around = { PATH: process.env["PATH"], HOME: folder.path, ...variables };
  const slots = openHostSlots({ root, host: HOST, board: store.identity }, systemClock);
  const host = createWorkerHost({
    id: HOST,
    location,
    board: store.identity,
    slots,
    program: PROGRAM,
    dispatchedBy: "default",
    variables: around,
    userHome: folder.path,
    log: { maxBytes: 64 * 1024, backups: 1 },
    policy: POLICY,
    async requireProfile(name) {
      const home = join(root, "profiles", name);
      await readFile(join(home, "config.yaml"));
      return { name, home };
    },
    runnable: async () => ({ ok: true }),
    routeOf: async (name: string) => name,
    defaultWorkdir: async () => null,
  });
  const add = async (title: string, details: Partial<NewTask> = {}) =>
    (await operator.create({ title, assignee: "coder", ...details }, neverAborted)).task;
  const claim = async (id: string, childLimits?: ChildLimits): Promise<ClaimedTask> => {
    const { claimed, refused } = await system.claim(
      { taskIds: [id], from: "ready", leaseMs, hostId: HOST, ...(childLimits && { childLimits }) },
      neverAborted,
    );
    const [first] = claimed;
    if (first === undefined) throw new Error(`not claimed: ${JSON.stringify(refused)}`);
    return first;
  };
  const findRun = async (id: number): Promise<Run> => {
    const run = await store.findRun(id, neverAborted);
    if (run === undefined) throw new Error(`run ${id} does not exist`);
    return run;
  };
  const logOf = ({ task, run }: ClaimedTask) =>
    readFile(runLogPath(root, location.slug, task.id, run.id), "utf8").catch(() => "");
  const processesOf = ({ task, run }: ClaimedTask) =>
    findProcesses({ variable: RUN_MARK, mark: runMark(store.identity, { taskId: task.id, runId: run.id }) });

  return {
    folder,
    root,
    location,
    store,
    operator,
    system,
    host,
    add,
    claim,
    findRun,
    logOf,
    processesOf,
    supervisorsOf: ({ task, run }: ClaimedTask) =>
      findProcesses({
        variable: SUPERVISOR_MARK,
        mark: runMark(store.identity, { taskId: task.id, runId: run.id }),
      }),
    /** Creates a profile whose model gives these answers. */
    async addProfile(name: string, script: object, { settings = "", env = "" } = {}) {
      const home = join(root, "profiles", name);
      await mkdir(home, { recursive: true, mode: 0o700 });
      await writeFile(join(home, "script.json"), JSON.stringify(script));
      const model = `model:\n  provider: scripted\n  default: ${join(home, "script.json")}\n`;
      await writeFile(join(home, "config.yaml"), `${model}${settings}`);
      await writeFile(join(home, ".env"), env, { mode: 0o600 });
    },
    /** Starts a supervisor whose worker is a shell script instead of the agent. */
    async superviseScript(claimed: ClaimedTask, script: string) {
      const { task, run, token } = claimed;
      const cwd = folder.file(`work-${run.id}`);
      await mkdir(cwd);
      const order: RunOrder = {
        location: { root, databaseUrl, slug },
        board: store.identity,
        run: {
          taskId: task.id,
          runId: run.id,
          profile: "coder",
          token,
          leaseMs,
          maxRuntimeSeconds: task.max_runtime_seconds,
        },
        worker: {
          argv: ["bash", "-c", script],
          env: workerVariables({
            location,
            board: store.identity,
            claimed,
            workspace: { kind: "dir", path: cwd },
            workspacesRoot: folder.path,
            profile: { name: "coder", home: root },
            variables: around,
            dispatchedBy: "default",
          }),
          cwd,
        },
        log: { path: runLogPath(root, location.slug, task.id, run.id), maxBytes: 64 * 1024, backups: 1 },
        policy: POLICY,
      };
      const started = await startSupervisor(PROGRAM, order, pickPublicVariables(around), neverAborted);
      if (started.kind === "failed") throw new Error(started.error);
      return { ...started, cwd };
    },
    /** Removes the guards of a task, such as the pause after a failure. */
    unguard: (id: string) =>
      store.forDispatcher.write(OPERATOR, (transaction) => liftGuards(transaction, id), neverAborted),
    /** Lets the lease of a run expire, as if it had not been renewed. Only for a board in SQLite. */
    expireLease({ run }: ClaimedTask): void {
      const connection = new Sqlite(boardPath(root, slug), { timeout: 150_000 });
      try {
        const { changes } = connection.prepare("update run set lease_until = 1 where id = ?").run(run.id);
        if (changes !== 1) throw new Error(`run ${run.id} does not exist`);
      } finally {
        connection.close();
      }
    },
    /** Waits until the run has ended and all its processes have exited, and returns it. */
    async ended(claimed: ClaimedTask, withinMs = WITHIN_MS): Promise<Run> {
      await eventually(async () => (await findRun(claimed.run.id)).ended_at !== null, withinMs);
      await eventually(async () => (await processesOf(claimed)).length === 0, withinMs);
      return findRun(claimed.run.id);
    },
    async [Symbol.asyncDispose]() {
      const mark = boardMark(store.identity);
      await endProcesses({ variable: SUPERVISOR_MARK, mark }, 0);
      await endProcesses(runProcesses(mark), 0);
      slots[Symbol.dispose]();
      await store[Symbol.asyncDispose]();
      if (diskBytes > 0) await run("umount", [root]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Waits until a condition holds; throws if it never does. */
export async function eventually(
  holds: () => Promise<boolean> | boolean,
  withinMs = WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  // Some conditions inspect every process of the machine, so the polling slows down over time.
  for (let pauseMs = 20; !(await holds()); pauseMs = Math.min(pauseMs * 1.3, 500)) {
    if (performance.now() > deadline)
      throw new Error(`the condition was not met within ${withinMs} ms: ${holds}`);
    await sleep(pauseMs);
  }
}
