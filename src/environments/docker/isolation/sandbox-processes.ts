import { systemClock } from "../../../lib/time/clock.ts";
import { type Engine, succeeded } from "../engine/engine.ts";
import { CHANNEL_MARK, KEEPER_MARK, KEEPER_SLEEP } from "../lifecycle/keeper.ts";

const TOP_TIMEOUT_MS = 10_000;
const SHELL_ENDS_WITHIN_MS = 1_000;
const POLL_MS = 100;
/** The arguments of a job's processes contain the path of its folder, which ends in the job's id. */
const JOB_PROCESS = / hermes-job \/(?:.*\/)?hermes-jobs-\d+\/(proc_[0-9a-f]+)(?: |$)/;

/** The pid of the holder follows the mark in the arguments of a channel's shell. */
const CHANNEL_OWNER = new RegExp(` ${CHANNEL_MARK} (\\d+)(?:[ -]|$)`);

export interface SandboxProcess {
  readonly pid: number;
  readonly parent: number;
  readonly arguments: string;
  readonly role: "keeper" | "channel" | "other";
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Id of the job that the process runs, or whose output it collects. */
  readonly job: string | undefined;
}

/**
 * Lists the live processes of a running container. The engine lists them from outside, so channels of all processes and
 * machines are visible. Undefined when the engine does not answer.
 */
export async function listSandboxProcesses(
  engine: Engine,
  id: string,
  signal: AbortSignal,
): Promise<readonly SandboxProcess[] | undefined> {
  const result = await engine.run(["top", id, "-eo", "pid,ppid,stat,etime,args"], TOP_TIMEOUT_MS, signal);
  return succeeded(result) ? parseTop(result.stdout) : undefined;
}

/** Parses a table of pid, ppid, stat, etime and args, and finds the role of each process. */
export function parseTop(text: string, now = Date.now()): SandboxProcess[] {
  const rows = text.split("\n").flatMap((line) => {
    const [, pid, parent, state, age = "", args] =
      /^\s*(\d+)\s+(\d+)\s+(\S+)\s+([\d:-]+)\s+(.*)$/.exec(line) ?? [];
    if (state === undefined || state.startsWith("Z")) return [];
    const startedAt = now - parseAge(age) * 1_000;
    return [{ pid: Number(pid), parent: Number(parent), startedAt, arguments: args?.trim() ?? "" }];
  });
  const pids = new Set(rows.map(({ pid }) => pid));
  const keepers = rows.filter((row) => isKeeper(row.arguments));
  // An init above the keeper has the same arguments, and is the parent of orphaned processes.
  const keeper = keepers.find(({ pid }) => !keepers.some(({ parent }) => parent === pid));
  return rows.map((row) => {
    const isOfKeeper =
      keepers.includes(row) || (row.parent === keeper?.pid && row.arguments === KEEPER_SLEEP);
    // The parent of a channel's shell is outside of the container. Orphaned children of a channel do not hold the sandbox.
    const isChannel = !pids.has(row.parent) && hasWord(row.arguments, CHANNEL_MARK);
    const role = isOfKeeper ? "keeper" : isChannel ? "channel" : "other";
    return { ...row, role, job: JOB_PROCESS.exec(row.arguments)?.[1] };
  });
}

/** Parses `[[days-]hours:]minutes:seconds` to seconds. */
function parseAge(text: string): number {
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$/.exec(text) ?? [];
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}

function isKeeper(args: string): boolean {
  return args.endsWith(` ${KEEPER_MARK}`);
}

function hasWord(text: string, word: string): boolean {
  return text.split(/\s+/).includes(word);
}

/** A process with a shell in a sandbox. */
export interface SandboxHolder {
  /** The pid, possibly on another machine; undefined when the shell's arguments do not contain it. */
  readonly pid: number | undefined;
  /** When the first of its shells started, in milliseconds since 1970. */
  readonly since: number;
}

export interface SandboxUse {
  /** Whether a process has a channel into the sandbox; true when that is unknown. */
  readonly isHeld: boolean;
  /** The processes that have a channel, as far as they are visible. */
  readonly holders: readonly SandboxHolder[];
  readonly jobs: readonly string[];
}

/** Finds the processes and jobs that use a running container. */
export async function findUse(engine: Engine, id: string, signal: AbortSignal): Promise<SandboxUse> {
  const processes = await listSandboxProcesses(engine, id, signal);
  return {
    isHeld: processes === undefined || processes.some(({ role }) => role === "channel"),
    holders: holdersAmong(processes ?? []),
    jobs: jobsAmong(processes ?? []),
  };
}

/** Like `findUse`, but first waits briefly: a process that ran a single command may exit before its shell does. */
export async function findPersistentUse(
  engine: Engine,
  id: string,
  signal: AbortSignal,
): Promise<SandboxUse> {
  const deadline = performance.now() + SHELL_ENDS_WITHIN_MS;
  for (;;) {
    const use = await findUse(engine, id, signal);
    if (!use.isHeld || performance.now() > deadline) return use;
    await systemClock.sleep(POLL_MS, signal);
  }
}

function holdersAmong(processes: readonly SandboxProcess[]): SandboxHolder[] {
  const holders = new Map<number | undefined, SandboxHolder>();
  for (const { role, arguments: words, startedAt } of processes) {
    if (role !== "channel") continue;
    const [, owner] = CHANNEL_OWNER.exec(words) ?? [];
    const pid = owner === undefined ? undefined : Number(owner);
    holders.set(pid, { pid, since: Math.min(startedAt, holders.get(pid)?.since ?? startedAt) });
  }
  return [...holders.values()];
}

export function jobsAmong(processes: readonly SandboxProcess[]): string[] {
  return [...new Set(processes.flatMap(({ job }) => job ?? []))];
}
