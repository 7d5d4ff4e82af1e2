import { readFile } from "node:fs/promises";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { DispatchHost, MemoryPressure, ModelChoice, ProfileCheck } from "../dispatcher/dispatch-host.ts";
import type { HostSlots } from "../dispatcher/host-slots.ts";
import type { BoardLocation } from "../open-board.ts";
import type { ClaimedTask } from "../operations/runs/claim.ts";
import { taskMark } from "../worker/run-mark.ts";
import type { RunOrder } from "../worker/run-order.ts";
import { pickPublicVariables, workerVariables } from "../worker/worker-variables.ts";
import { boardFolders } from "../workspaces/board-folders.ts";
import { type BranchTask, type BranchUser, findBranchUser } from "../workspaces/git/find-branch-user.ts";
import { prepareWorkspace } from "../workspaces/prepare-workspace.ts";
import type { Workspace, WorkspaceLocation } from "../workspaces/workspace.ts";
import { END_GRACE_MS, endProcesses } from "./end-processes.ts";
import { findFullDisk } from "./find-full-disk.ts";
import { findRunProcesses, terminateRun } from "./find-run.ts";
import { type LogBounds, runLogPath } from "./log/run-log.ts";
import { runProcesses } from "./process-table.ts";
import { startSupervisor } from "./start-supervisor.ts";
import { WORKER_PIPE } from "./start-worker.ts";

export interface WorkerHostParts {
  /** The host id that `readHostFacts` returns. */
  readonly id: string;
  readonly location: Omit<BoardLocation, "create">;
  /** The identity of the board. */
  readonly board: string;
  /** The command line of this program, with absolute paths. */
  readonly program: readonly [string, ...string[]];
  /** The name of the dispatcher's own profile. */
  readonly dispatchedBy: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly log: LogBounds;
  readonly policy: RunOrder["policy"];
  readonly slots: HostSlots;
  /** Throws when the profile does not exist or cannot be used. */
  requireProfile(name: string): Promise<{ readonly name: string; readonly home: string }>;
  runnable(profile: string, signal: AbortSignal): Promise<ProfileCheck>;
  routeOf(profile: string, wanted: ModelChoice, signal: AbortSignal): Promise<string>;
  /** The folder for tasks that name none. */
  defaultWorkdir(signal: AbortSignal): Promise<string | null>;
}

/** This machine as a `DispatchHost`: each run gets a supervisor process that outlives this process. */
export function createWorkerHost(parts: WorkerHostParts): DispatchHost {
  const { id, location, board, variables } = parts;
  const folders = boardFolders(location.root, location.slug);
  const findWorkspaces = async (signal: AbortSignal) => {
    return { home: parts.userHome, defaultWorkdir: await parts.defaultWorkdir(signal) };
  };
  const locationOf = (workspaces: NonNullable<RunOrder["workspaces"]>): WorkspaceLocation => {
    return { ...folders, ...workspaces, env: pickPublicVariables(variables), now: () => Date.now() };
  };
  const branchUser = async (task: BranchTask, signal: AbortSignal): Promise<BranchUser | undefined> => {
    try {
      return await findBranchUser(task, locationOf(await findWorkspaces(signal)), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError) return undefined;
      throw error;
    }
  };
  return {
    id,
    runnable: parts.runnable,
    routeOf: parts.routeOf,
    findBranchUser: branchUser,
    async start(claimed, signal) {
      const { task } = claimed;
      const earlier = runProcesses(taskMark(board, task.id));
      // The lease protects rows but not files, so leftover processes of an earlier run must not write to the workspace.
      const survivors = await endProcesses(earlier, END_GRACE_MS);
      if (survivors.length > 0)
        return failedStart(
          "infrastructure",
          `processes of an earlier run do not exit: ${survivors.join(", ")}`,
        );
      let workspace: Workspace;
      let workspaces: NonNullable<RunOrder["workspaces"]>;
      try {
        workspaces = await findWorkspaces(signal);
        workspace = await prepareWorkspace(task, locationOf(workspaces), signal);
      } catch (error) {
        signal.throwIfAborted();
        const user = await branchUser(task, signal);
        if (user !== undefined)
          return failedStart("infrastructure", `its branch ${user.branch} is checked out in ${user.path}`);
        return failedFor("workspace", messageOf(error), [task.workspace_path ?? location.root]);
      }
      try {
        const order: RunOrder = {
          ...(await createOrder(parts, claimed, workspace, folders.workspaces)),
          route: await parts.routeOf(claimed.run.profile ?? "", task, signal),
          workspaces,
        };
        const started = await startSupervisor(parts.program, order, pickPublicVariables(variables), signal);
        if (started.kind === "failed") return failedFor(started.cause, started.error, [location.root]);
        return { kind: "started", workspace: workspace.path, supervisorPid: started.supervisorPid };
      } catch (error) {
        signal.throwIfAborted();
        return failedFor("spawn", messageOf(error), [location.root]);
      }
    },
    async isAlive(run, signal) {
      return (await findRunProcesses(board, run, signal)).liveness;
    },
    terminate: (run, signal) => terminateRun(board, run, signal),
    memoryPressure: () => readMemoryPressure(),
    runningElsewhere: (signal) => parts.slots.countElsewhere(signal),
    reserveSlot: (limit, signal) => parts.slots.reserve(limit, signal),
  };
}

const failedStart = (cause: "workspace" | "spawn" | "infrastructure", error: string) =>
  ({ kind: "failed", cause, error }) as const;

const NO_SPACE = /ENOSPC|no space left|disk is full/i;

/** Attributes a failure on a full disk to the host, and names the folder on that disk. */
async function failedFor(
  cause: Parameters<typeof failedStart>[0],
  error: string,
  folders: readonly string[],
): Promise<ReturnType<typeof failedStart>> {
  const full = NO_SPACE.test(error) ? await findFullDisk(folders) : undefined;
  if (full === undefined) return failedStart(cause, error);
  return failedStart("infrastructure", `the disk with ${full} is full: ${error}`);
}

async function createOrder(
  parts: WorkerHostParts,
  claimed: ClaimedTask,
  workspace: Workspace,
  workspacesRoot: string,
): Promise<RunOrder> {
  const { location, board, log, policy } = parts;
  const { task, run, token } = claimed;
  const profile = await parts.requireProfile(run.profile ?? task.assignee ?? "");
  return {
    location: { root: location.root, databaseUrl: location.databaseUrl, slug: location.slug },
    board,
    run: {
      taskId: task.id,
      runId: run.id,
      profile: profile.name,
      token,
      leaseMs: run.lease_ms,
      maxRuntimeSeconds: run.max_runtime_seconds,
    },
    worker: {
      argv: [...parts.program, ...workerArguments(claimed, profile.name)],
      env: workerVariables({ ...parts, claimed, workspace, workspacesRoot, profile }),
      cwd: workspace.path,
    },
    log: { path: runLogPath(location.root, location.slug, task.id, run.id), ...log },
    policy: {
      failureLimit: policy.failureLimit,
      failureRetryMs: policy.failureRetryMs,
      rateLimitCooldownMs: policy.rateLimitCooldownMs,
    },
  };
}

function workerArguments({ task }: ClaimedTask, profile: string): readonly string[] {
  const { model_override: model, provider_override: provider, reasoning_effort: effort } = task;
  return [
    "-p",
    profile,
    ...(effort === null ? [] : [`--agent.reasoning-effort=${effort}`]),
    "chat",
    "-q",
    `work kanban task ${task.id}`,
    ...(model === null ? [] : ["-m", model]),
    ...(provider === null ? [] : ["--provider", provider]),
    "--worker-pipe",
    String(WORKER_PIPE),
  ];
}

const ELEVATED = 0.12;
const CRITICAL = 0.05;

/** Rates the share of memory that is available to new programs; `none` where the system does not report it. */
async function readMemoryPressure(): Promise<MemoryPressure> {
  if (process.platform !== "linux") return "none";
  const text = await readFile("/proc/meminfo", "utf8");
  const amount = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  const free = amount("MemAvailable") / amount("MemTotal");
  if (free < CRITICAL) return "critical";
  return free < ELEVATED ? "elevated" : "none";
}
