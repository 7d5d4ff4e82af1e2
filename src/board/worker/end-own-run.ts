import { endProcesses, sendSignal } from "../supervisor/end-processes.ts";
import { runProcesses } from "../supervisor/process-table.ts";
import { type RunName, runMark } from "./run-mark.ts";

/** Kills all processes that a worker has started, and then the worker itself, which is the calling process. */
export async function endOwnRun(board: string, run: RunName): Promise<never> {
  try {
    await endProcesses(runProcesses(runMark(board, run)), 0);
  } finally {
    sendSignal(-process.pid, "SIGKILL"); // has no effect if this process leads no group, hence the second signal
    sendSignal(process.pid, "SIGKILL");
  }
  return new Promise<never>(() => undefined); // the signal has been sent and ends this process
}
