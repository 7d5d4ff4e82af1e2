import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../../lib/errors.ts";
import { endProcessGroup } from "../../lib/process/process-group.ts";
import { type FoundProcess, findProcesses, type ProcessQuery } from "./process-table.ts";
import { findRunGroups, killGroup, removeGroup } from "./run-cgroup.ts";

const KILL_DEADLINE_MS = 3_000; // a killed process exits within milliseconds unless it is stuck in the kernel
const PAUSE_MS = 40;

/** Time between TERM and KILL of a run's processes. */
export const END_GRACE_MS = 5_000;

/** Ends processes and the processes that they start (TERM, KILL after `graceMs`; 0 kills at once); returns survivors. */
export async function endProcesses(query: ProcessQuery, graceMs: number): Promise<readonly number[]> {
  if (process.platform !== "linux") {
    const group = query.group?.();
    return group === undefined ? [] : endProcessGroup(group, graceMs);
  }
  // A process that was found once stays known, even if its mark or its parent disappears.
  const known = new Map<number, string>();
  if (graceMs > 0) {
    signalGroup(query, "SIGTERM");
    const warned = new Set<number>();
    const left = await repeatUntilExited(query, known, graceMs, ({ pid, group }) => {
      if (group !== query.group?.() && !warned.has(pid)) sendSignal(pid, "SIGTERM");
      warned.add(pid);
    });
    if (left.length === 0) return removeGroups(query);
  }
  signalGroup(query, "SIGKILL");
  if (query.withDescendants === true) await Promise.all((await findRunGroups(query.mark)).map(killGroup));
  const left = await repeatUntilExited(query, known, KILL_DEADLINE_MS, ({ pid }) =>
    sendSignal(pid, "SIGKILL"),
  );
  return left.length === 0 ? removeGroups(query) : left;
}

async function removeGroups({ mark, withDescendants }: ProcessQuery): Promise<readonly number[]> {
  if (withDescendants === true) await Promise.all((await findRunGroups(mark)).map(removeGroup));
  return [];
}

async function repeatUntilExited(
  query: ProcessQuery,
  known: Map<number, string>,
  deadlineMs: number,
  act: (found: FoundProcess) => void,
): Promise<readonly number[]> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const isLast = performance.now() > deadline; // read first, so that the last poll is made after the deadline
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

/** Signals a process, or a group if negative; ignores a process that has exited or belongs to another user. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!["ESRCH", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}
