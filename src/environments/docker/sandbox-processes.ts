import { systemClock } from "../../lib/clock.ts";
import { type Engine, succeeded } from "./engine.ts";
import { CHANNEL_MARK, KEEPER_MARK, KEEPER_WAITS } from "./keeper.ts";

const TOP_TIMEOUT_MS = 10_000;
const SHELL_ENDS_WITHIN_MS = 1_000;
const LOOK_PAUSE_MS = 100;
/** The processes that keep a job carry the name of its folder, which ends in the job's id. */
const JOB_PROCESS = / hermes-job \/(?:.*\/)?hermes-jobs-\d+\/(proc_[0-9a-f]+)(?: |$)/;

export interface SandboxProcess {
  readonly pid: number;
  readonly parent: number;
  readonly arguments: string;
  readonly role: "keeper" | "channel" | "other";
  /** The id of the job that it keeps, or whose output it collects. */
  readonly job: string | undefined;
}

/**
 * The living processes of a running container, seen from outside, so that it does not matter who is in it or from
 * where. Undefined when the engine cannot tell.
 */
export async function listSandboxProcesses(
  engine: Engine,
  id: string,
  signal: AbortSignal,
): Promise<readonly SandboxProcess[] | undefined> {
  const result = await engine.run(
    ["top", id, "-eo", "pid,ppid,stat,args"],
    { timeoutMs: TOP_TIMEOUT_MS },
    signal,
  );
  return succeeded(result) ? parseTop(result.stdout) : undefined;
}

/** The processes in a table of pid, ppid, stat and args, each with the part that it plays. */
export function parseTop(text: string): SandboxProcess[] {
  const rows = text.split("\n").flatMap((line) => {
    const [, pid, parent, state, args] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (state === undefined || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), arguments: args?.trim() ?? "" }];
  });
  const pids = new Set(rows.map(({ pid }) => pid));
  const keepers = rows.filter((row) => isKeeper(row.arguments));
  // An init above the keeper shows the same arguments, and is the parent of what lost its own.
  const keeper = keepers.find(({ pid }) => !keepers.some(({ parent }) => parent === pid));
  return rows.map((row) => {
    const ofKeeper = keepers.includes(row) || (row.parent === keeper?.pid && row.arguments === KEEPER_WAITS);
    // A shell that was started from outside has its parent there. Children that outlived theirs do not hold anything.
    const ofChannel = !pids.has(row.parent) && hasWord(row.arguments, CHANNEL_MARK);
    const role = ofKeeper ? "keeper" : ofChannel ? "channel" : "other";
    return { ...row, role, job: JOB_PROCESS.exec(row.arguments)?.[1] };
  });
}

function isKeeper(args: string): boolean {
  return args.endsWith(` ${KEEPER_MARK}`);
}

function hasWord(text: string, word: string): boolean {
  return text.split(/\s+/).includes(word);
}

export interface SandboxUse {
  /** Somebody has a channel into it at this moment; a doubt counts as yes. */
  readonly isHeld: boolean;
  /** The ids of the jobs that run in it. */
  readonly jobs: readonly string[];
}

/** Who would be hurt if a running container were ended now. */
export async function findUse(engine: Engine, id: string, signal: AbortSignal): Promise<SandboxUse> {
  const processes = await listSandboxProcesses(engine, id, signal);
  return {
    isHeld: processes === undefined || processes.some(({ role }) => role === "channel"),
    jobs: jobsAmong(processes ?? []),
  };
}

/** The same for those who refuse while it is in use: a single command leaves its shell to end by itself. */
export async function findLastingUse(engine: Engine, id: string, signal: AbortSignal): Promise<SandboxUse> {
  const until = performance.now() + SHELL_ENDS_WITHIN_MS;
  for (;;) {
    const use = await findUse(engine, id, signal);
    if (!use.isHeld || performance.now() > until) return use;
    await systemClock.sleep(LOOK_PAUSE_MS, signal);
  }
}

export function jobsAmong(processes: readonly SandboxProcess[]): string[] {
  return [...new Set(processes.flatMap(({ job }) => job ?? []))];
}
