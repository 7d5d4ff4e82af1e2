import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { errnoOf } from "./errors.ts";

const KILL_DEADLINE_MS = 2_000; // a killed process is gone in milliseconds unless the kernel itself is stuck
const MAX_PAUSE_MS = 40;

/**
 * Ends every process of a group (TERM, KILL after `graceMs`), looks whether they are really gone, and resolves with
 * the pids that are not: empty means that nobody is left.
 */
export async function endProcessGroup(pid: number, graceMs: number): Promise<readonly number[]> {
  if (!Number.isInteger(pid) || pid <= 1)
    throw new RangeError(`${pid} is no process group that may be ended`);
  sendSignal(pid, "SIGTERM");
  if ((await survivorsAfter(pid, graceMs)).length === 0) return [];
  sendSignal(pid, "SIGKILL");
  return survivorsAfter(pid, KILL_DEADLINE_MS);
}

async function survivorsAfter(pid: number, deadlineMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + deadlineMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const leftMs = deadline - performance.now(); // asked before, so that the last look is one after the deadline
    const survivors = await livingMembers(pid);
    if (survivors.length === 0 || leftMs <= 0) return survivors;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

/** Zombies do not count: they run no more, and where nobody reaps orphans they would stay for ever. */
async function livingMembers(group: number): Promise<readonly number[]> {
  if (!sendSignal(group, 0)) return [];
  const members = await listMembers(group);
  // The kernel says that the group exists, so an empty list means that its members are hidden from us.
  if (members.length === 0) return [group];
  return members.filter(({ state }) => !/^[ZX]/.test(state)).map(({ pid }) => pid);
}

/** False when no such group exists; a group that we may not signal does exist. */
function sendSignal(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if (errnoOf(error) === "ESRCH") return false;
    if (errnoOf(error) === "EPERM") return true;
    throw error;
  }
}

interface Member {
  readonly pid: number;
  readonly state: string;
}

async function listMembers(group: number): Promise<Member[]> {
  const rows = process.platform === "linux" ? await rowsOfProc() : await rowsOfPs();
  return rows.filter((row) => row.group === group);
}

type Row = Member & { readonly group: number };

async function rowsOfProc(): Promise<Row[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows = await Promise.all(
    pids.map(async (pid) => {
      // A process that ended since the folder was listed has no file any more.
      const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
      // The second field is the program's name, which may hold blanks and parentheses.
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return { pid: Number(pid), state: state ?? "", group: Number(group) };
    }),
  );
  return rows;
}

/** For systems without /proc. One `-o` per column, because BSD takes the rest of the argument as a heading. */
async function rowsOfPs(): Promise<Row[]> {
  const columns = ["pid=", "pgid=", "state="].flatMap((column) => ["-o", column]);
  const { stdout } = await promisify(execFile)("/bin/ps", ["-A", ...columns]);
  return stdout.split("\n").flatMap((line) => {
    const [pid, group, state] = line.trim().split(/\s+/);
    return state === undefined ? [] : [{ pid: Number(pid), group: Number(group), state }];
  });
}
