import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../../lib/errors.ts";
import { endProcessGroup } from "../../lib/process-group.ts";
import { type FoundProcess, findProcesses, type ProcessQuery } from "./process-table.ts";
import { findRunGroups, killGroup, removeGroup } from "./run-cgroup.ts";

const KILL_DEADLINE_MS = 3_000; // a killed process is gone in milliseconds unless the kernel itself is stuck
const PAUSE_MS = 40;

/** Time between TERM and KILL of a run's processes. */
export const END_GRACE_MS = 5_000;

/**
 * Ends processes (TERM, KILL after `graceMs`), those included that they start meanwhile, and resolves with the pids that
 * are still there: empty means that nobody is left. Without grace the group is killed before anything is awaited.
 */
export async function endProcesses(query: ProcessQuery, graceMs: number): Promise<readonly number[]> {
  if (process.platform !== "linux") {
    const group = query.group?.();
    return group === undefined ? [] : endProcessGroup(group, graceMs);
  }
  // Whoever was found once stays found, also when the mark or the parent that gave it away is gone.
  const known = new Map<number, string>();
  if (graceMs > 0) {
    signalGroup(query, "SIGTERM");
    const warned = new Set<number>();
    const left = await repeatUntilGone(query, known, graceMs, ({ pid, group }) => {
      if (group !== query.group?.() && !warned.has(pid)) sendSignal(pid, "SIGTERM");
      warned.add(pid);
    });
    if (left.length === 0) return removeGroups(query);
  }
  signalGroup(query, "SIGKILL");
  if (query.withDescendants === true) await Promise.all((await findRunGroups(query.mark)).map(killGroup));
  const left = await repeatUntilGone(query, known, KILL_DEADLINE_MS, ({ pid }) => sendSignal(pid, "SIGKILL"));
  return left.length === 0 ? removeGroups(query) : left;
}

async function removeGroups({ mark, withDescendants }: ProcessQuery): Promise<readonly number[]> {
  if (withDescendants === true) await Promise.all((await findRunGroups(mark)).map(removeGroup));
  return [];
}

async function repeatUntilGone(
  query: ProcessQuery,
  known: Map<number, string>,
  deadlineMs: number,
  act: (found: FoundProcess) => void,
): Promise<readonly number[]> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const isLast = performance.now() > deadline; // asked before, so that the last look is one after the deadline
    const found = await findProcesses(query, known);
    if (found.length === 0) return [];
    for (const one of found) known.set(one.pid, one.startTime);
    for (const one of found) act(one);
    if (isLast) return found.map(({ pid }) => pid);
    await sleep(PAUSE_MS);
  }
}

function signalGroup({ group }: ProcessQuery, signal: NodeJS.Signals): void {
  const leader = group?.();
  if (leader !== undefined) sendSignal(-leader, signal);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended, or it has become another user's, which the count of those left will tell.
    if (!["ESRCH", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}
