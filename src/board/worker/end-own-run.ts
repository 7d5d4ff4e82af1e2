import { errnoOf } from "../../lib/errors.ts";
import { endProcesses } from "./end-processes.ts";
import { runProcesses } from "./process-table.ts";
import { type RunName, runMark } from "./run-mark.ts";

/** Ends everything that a worker has started, and then the worker itself, which is the process that calls this. */
export async function endOwnRun(board: string, run: RunName): Promise<never> {
  try {
    await endProcesses(runProcesses(runMark(board, run)), 0);
  } finally {
    kill(-process.pid);
    kill(process.pid);
  }
  return new Promise<never>(() => undefined); // the signal is on its way
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error; // it leads no group
  }
}
