import { readdirSync, readFileSync } from "node:fs";
import { boardMark, RUN_MARK, SUPERVISOR_MARK } from "./run-mark.ts";

const ROUNDS = 20;

/**
 * Kills the supervisors and workers of a board without awaiting anything, for a process that is about to end itself.
 * Where there is no /proc nobody is found: a worker then ends with its lease, which its supervisor cannot renew.
 */
export function killBoardNow(board: string): void {
  const mark = boardMark(board);
  const assignments = [`${SUPERVISOR_MARK}=${mark}`, `${RUN_MARK}=${mark}`];
  // What is being started while we look is found by the next look.
  for (let round = 0; round < ROUNDS; round++) {
    const pids = listPids().filter((pid) => hasEntry(pid, assignments));
    if (pids.length === 0) return;
    for (const pid of pids) attempt(() => process.kill(pid, "SIGKILL"));
  }
}

function listPids(): readonly number[] {
  const names = attempt(() => readdirSync("/proc")) ?? [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** A zombie has no environment any more. */
function hasEntry(pid: number, beginnings: readonly string[]): boolean {
  const entries = attempt(() => readFileSync(`/proc/${pid}/environ`, "latin1"))?.split("\0") ?? [];
  return entries.some((entry) => beginnings.some((beginning) => entry.startsWith(beginning)));
}

/** Undefined where it fails: that process has ended meanwhile, or is another's, and nobody is left to be told. */
function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
