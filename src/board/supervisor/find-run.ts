import { setTimeout as sleep } from "node:timers/promises";
import { readHostFacts } from "../../lib/process/host-facts.ts";
import { checkLiveness, parseIdentity } from "../../lib/process/process-identity.ts";
import { readProcessState } from "../../lib/process/process-state.ts";
import type { RunLiveness, Termination } from "../dispatcher/dispatch-host.ts";
import type { Run } from "../task.ts";
import { runMark, SUPERVISOR_MARK } from "../worker/run-mark.ts";
import { END_GRACE_MS, endProcesses, sendSignal } from "./end-processes.ts";
import { findProcesses, type ProcessQuery, runProcesses } from "./process-table.ts";

/** The remaining processes of a run on this machine. */
export interface RunProcesses {
  readonly liveness: RunLiveness;
  readonly supervisors: ProcessQuery;
  /** The worker and its descendants. */
  readonly workers: ProcessQuery;
}

/** Finds the processes of a run by their marks and by the identity of its worker, never by a pid alone. */
export async function findRunProcesses(board: string, run: Run, signal: AbortSignal): Promise<RunProcesses> {
  const mark = runMark(board, { taskId: run.task_id, runId: run.id });
  const identity = run.worker_identity === null ? undefined : parseIdentity(run.worker_identity);
  const worker = identity === undefined ? undefined : await checkLiveness(identity, signal);
  const supervisors = { variable: SUPERVISOR_MARK, mark };
  const workers = {
    ...runProcesses(mark),
    // On Linux the marks suffice; a group id that was read earlier may have been reused since.
    ...(worker === "alive" && identity && process.platform !== "linux" && { group: () => identity.pid }),
  };
  const found = [...(await findProcesses(supervisors)), ...(await findProcesses(workers))];
  const known = { supervisors, workers };
  if (found.length > 0 || worker === "alive") return { ...known, liveness: "alive" };
  if (identity !== undefined) {
    const here = await readHostFacts(signal);
    const wasRestarted = identity.hostId === here.hostId && identity.bootId !== here.bootId;
    return { ...known, liveness: wasRestarted ? "host-restarted" : (worker ?? "unknown") };
  }
  // If no process has the pid, the supervisor has exited. Otherwise the process may be the supervisor, whose mark we
  // cannot read.
  const hasExited =
    run.supervisor_pid !== null && (await readProcessState(run.supervisor_pid, signal)) === "absent";
  return { ...known, liveness: hasExited ? "dead" : "unknown" };
}

/** Sends TERM to the supervisor, which ends the run, then kills the processes that remain. */
export async function terminateRun(board: string, run: Run, signal: AbortSignal): Promise<Termination> {
  const { liveness, supervisors, workers } = await findRunProcesses(board, run, signal);
  if (liveness === "unknown") return "unknown";
  if (liveness !== "alive") {
    await endProcesses(workers, 0); // only removes the empty cgroup
    return "gone";
  }
  // A responsive supervisor ends its worker and records the reason, so it gets TERM and time before it is killed.
  const wasSignalled = await signalAll(supervisors);
  if (wasSignalled) await waitUntilExited(supervisors, END_GRACE_MS * 2);
  const survivors = [
    ...(await endProcesses(supervisors, 0)),
    ...(await endProcesses(workers, wasSignalled ? 0 : END_GRACE_MS)),
  ];
  return survivors.length === 0 ? "gone" : "survived";
}

async function signalAll(supervisors: ProcessQuery): Promise<boolean> {
  const found = await findProcesses(supervisors);
  for (const { pid } of found) sendSignal(pid, "SIGTERM");
  return found.length > 0;
}

async function waitUntilExited(query: ProcessQuery, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline && (await findProcesses(query)).length > 0) await sleep(50);
}
