import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../../lib/errors.ts";
import { readHostFacts } from "../../lib/host-facts.ts";
import { livenessOf, parseIdentity } from "../../lib/process-identity.ts";
import { readProcessState } from "../../lib/process-state.ts";
import type { RunLiveness, Termination } from "../dispatcher/host.ts";
import type { Run } from "../task.ts";
import { END_GRACE_MS, endProcesses } from "./end-processes.ts";
import { findProcesses, type ProcessQuery, runProcesses } from "./process-table.ts";
import { runMark, SUPERVISOR_MARK } from "./run-mark.ts";

/** What is left of a run on this machine. */
export interface RunProcesses {
  readonly liveness: RunLiveness;
  readonly supervisors: ProcessQuery;
  /** The worker and all that it has started. */
  readonly workers: ProcessQuery;
}

/** Looks for the processes of a run of a board, by their marks and by the identity of its worker, never by a pid alone. */
export async function findRunProcesses(board: string, run: Run, signal: AbortSignal): Promise<RunProcesses> {
  const mark = runMark(board, { taskId: run.task_id, runId: run.id });
  const identity = run.worker_identity === null ? undefined : parseIdentity(run.worker_identity);
  const worker = identity === undefined ? undefined : await livenessOf(identity, signal);
  const supervisors = { variable: SUPERVISOR_MARK, mark };
  const workers = {
    ...runProcesses(mark),
    // Where marks can be read, they are enough; a number that was looked up once may be another's a moment later.
    ...(worker === "alive" && identity && process.platform !== "linux" && { group: () => identity.pid }),
  };
  const found = [...(await findProcesses(supervisors)), ...(await findProcesses(workers))];
  const known = { supervisors, workers };
  if (found.length > 0 || worker === "alive") return { ...known, liveness: "alive" };
  if (identity !== undefined) {
    const here = await readHostFacts(signal);
    const isAnew = identity.hostId === here.hostId && identity.bootId !== here.bootId;
    return { ...known, liveness: isAnew ? "host-restarted" : (worker ?? "unknown") };
  }
  // A supervisor whose pid nobody has is dead; one whose pid somebody has may be hidden from us.
  const isGone =
    run.supervisor_pid !== null && (await readProcessState(run.supervisor_pid, signal)) === "absent";
  return { ...known, liveness: isGone ? "dead" : "unknown" };
}

/** Asks the supervisor to end the run, and ends what is left itself. */
export async function terminateRun(board: string, run: Run, signal: AbortSignal): Promise<Termination> {
  const { liveness, supervisors, workers } = await findRunProcesses(board, run, signal);
  if (liveness === "unknown") return "unknown";
  if (liveness !== "alive") {
    await endProcesses(workers, 0); // nobody is there; what held them together goes too
    return "gone";
  }
  // A supervisor that can still act ends its worker and writes down why; ended itself, it could not.
  const asked = await askToEnd(supervisors);
  if (asked) await waitUntilGone(supervisors, END_GRACE_MS * 2);
  const left = [
    ...(await endProcesses(supervisors, 0)),
    ...(await endProcesses(workers, asked ? 0 : END_GRACE_MS)),
  ];
  return left.length === 0 ? "gone" : "survived";
}

async function askToEnd(supervisors: ProcessQuery): Promise<boolean> {
  const found = await findProcesses(supervisors);
  for (const { pid } of found) {
    try {
      process.kill(pid, "SIGTERM");
    } catch (error) {
      if (errnoOf(error) !== "ESRCH") throw error;
    }
  }
  return found.length > 0;
}

async function waitUntilGone(query: ProcessQuery, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline && (await findProcesses(query)).length > 0) await sleep(50);
}
