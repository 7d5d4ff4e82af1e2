import { type Engine, succeeded } from "./engine.ts";
import { CHANNEL_MARK, KEEPER_MARK, KEEPER_WAITS } from "./keeper.ts";

const TOP_TIMEOUT_MS = 10_000;

export interface SandboxProcess {
  readonly pid: number;
  readonly parent: number;
  readonly arguments: string;
  readonly role: "keeper" | "channel" | "other";
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
    return { ...row, role: ofKeeper ? "keeper" : ofChannel ? "channel" : "other" };
  });
}

function isKeeper(args: string): boolean {
  return args.endsWith(` ${KEEPER_MARK}`);
}

function hasWord(text: string, word: string): boolean {
  return text.split(/\s+/).includes(word);
}

/** Whether somebody has a channel into the sandbox at this moment; a doubt counts as yes. */
export async function isHeld(engine: Engine, id: string, signal: AbortSignal): Promise<boolean> {
  const processes = await listSandboxProcesses(engine, id, signal);
  return processes === undefined || processes.some(({ role }) => role === "channel");
}
