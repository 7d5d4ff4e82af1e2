import { readdirSync, readFileSync } from "node:fs";
import { filterPids, findVariable } from "../../lib/process/proc.ts";
import { boardMark, RUN_MARK, SUPERVISOR_MARK } from "../worker/run-mark.ts";

const ROUNDS = 20;

/** Kills the processes of a board synchronously before this process exits. Without /proc they end when their lease expires. */
export function killBoardNow(board: string): void {
  const mark = boardMark(board);
  // Repeated, because processes may be started while /proc is read.
  for (let round = 0; round < ROUNDS; round++) {
    const pids = filterPids(attempt(() => readdirSync("/proc")) ?? []).filter((pid) => hasMark(pid, mark));
    if (pids.length === 0) return;
    for (const pid of pids) attempt(() => process.kill(pid, "SIGKILL"));
  }
}

/** False for a zombie, which has no environment. */
function hasMark(pid: number, mark: string): boolean {
  const environ = attempt(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
  return [SUPERVISOR_MARK, RUN_MARK].some((name) => findVariable(environ, name)?.startsWith(mark));
}

/** Undefined on failure: the process has exited or belongs to another user. Nothing is reported, because we exit anyway. */
function attempt<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
