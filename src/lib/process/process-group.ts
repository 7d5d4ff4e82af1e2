import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { errnoOf } from "../errors.ts";
import { listPids, parseProcStat, readProcNow } from "./proc.ts";

const KILL_DEADLINE_MS = 2_000; // a killed process exits within milliseconds unless it is stuck in the kernel
const MAX_PAUSE_MS = 40;

/**
 * Ends every process of a group (TERM, then KILL after `graceMs`), waits until they have exited, and resolves with the pids
 * that are still running: empty means that the group has ended.
 */
export async function endProcessGroup(pid: number, graceMs: number): Promise<readonly number[]> {
  if (!Number.isInteger(pid) || pid <= 1)
    throw new RangeError(`${pid} is not a process group that can be ended`);
  sendSignal(pid, "SIGTERM");
  if ((await waitForSurvivors(pid, graceMs)).length === 0) return [];
  sendSignal(pid, "SIGKILL");
  return waitForSurvivors(pid, KILL_DEADLINE_MS);
}

async function waitForSurvivors(pid: number, deadlineMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + deadlineMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const leftMs = deadline - performance.now(); // computed before the check, so that the last check happens after the deadline
    const survivors = await listLivingMembers(pid);
    if (survivors.length === 0 || leftMs <= 0) return survivors;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

/** Zombies do not count: they no longer run, and without an init process that reaps orphans they stay forever. */
async function listLivingMembers(group: number): Promise<readonly number[]> {
  if (!sendSignal(group, 0)) return [];
  const members = await listMembers(group);
  // The group exists according to the kernel, so an empty list means that its members are hidden from us.
  if (members.length === 0) return [group];
  return members.filter(({ ended }) => !ended).map(({ pid }) => pid);
}

/** Returns false when the group does not exist. A group that we are not allowed to signal does exist. */
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
  readonly group: number;
  readonly ended: boolean;
}

async function listMembers(group: number): Promise<Member[]> {
  const rows = process.platform === "linux" ? await readMembersFromProc() : await readMembersFromPs();
  return rows.filter((row) => row.group === group);
}

async function readMembersFromProc(): Promise<Member[]> {
  return (await listPids()).flatMap((pid) => {
    const stat = parseProcStat(readProcNow(pid, "stat")); // synchronous, because that takes a quarter of the CPU
    return stat === undefined ? [] : [{ pid, ...stat }];
  });
}

/** For systems without /proc. One `-o` per column, because BSD takes the rest of the argument as a heading. */
async function readMembersFromPs(): Promise<Member[]> {
  const columns = ["pid=", "pgid=", "state="].flatMap((column) => ["-o", column]);
  const { stdout } = await promisify(execFile)("/bin/ps", ["-A", ...columns]);
  return stdout.split("\n").flatMap((line) => {
    const [pid, group, state] = line.trim().split(/\s+/);
    return state === undefined
      ? []
      : [{ pid: Number(pid), group: Number(group), ended: /^[ZX]/.test(state) }];
  });
}
