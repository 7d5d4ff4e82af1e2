import { AppError } from "../../lib/errors.ts";
import type { BoardTransaction } from "../board-transaction.ts";
import type { Steps } from "../database/steps.ts";
import { endRun, type RunEnding, reclaimExpired } from "../operations/runs/end-run.ts";
import { confirmRunExit, listLeavingRuns } from "../operations/runs/leaving-runs.ts";
import { promoteWaitingTasks } from "../operations/runs/recompute.ts";
import { blockTask } from "../operations/tasks/end-task.ts";
import { type RunRow, toRun } from "../operations/views/rows.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { DispatchHost } from "./dispatch-host.ts";
import type { PassParts } from "./pass-parts.ts";
import { type PassReport, requestPassAt } from "./pass-report.ts";
import { classifyOverdue } from "./reasons/classify-overdue.ts";
import { runEndingOf, VANISHED, type WorkerExit } from "./rules/run-ending.ts";
import { CLOCK_MARGIN_MS } from "./rules/run-lease.ts";
import { LeaseLost, requireLease } from "./transactions/board-lease.ts";
import { findBookkeepingWork, type OpenRun } from "./transactions/find-bookkeeping-work.ts";
import type { MassFailure } from "./transactions/find-mass-failures.ts";
import { deferReclaim, reconcileOrphan } from "./transactions/repair-runs.ts";

const DEFER_MS = 120_000;
const MANY_VANISHED = 3;
const POLL_AGAIN_MS = 5_000;

/** Does the bookkeeping of a board as the holder of its lease; stops when another dispatcher has taken the lease. */
export async function bookkeep(
  parts: PassParts,
  token: number,
  report: PassReport,
  signal: AbortSignal,
): Promise<void> {
  try {
    await new Bookkeeper(parts, token, report, signal).run();
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    report.skipped_locked = true;
  }
}

/**
 * Releases leaving runs: a run of this host once none of its processes is alive, a run of another host once its lease has
 * expired, because its supervisor kills its processes by then. Processes of this host that outlive the lease are killed.
 * Needs no board lease, because every dispatcher would write the same facts.
 */
export async function releaseLeavingRuns(
  { board, host }: PassParts,
  report: PassReport,
  signal: AbortSignal,
): Promise<void> {
  for (const run of await board.read(listLeavingRuns, signal)) {
    const until = run.lease_until + CLOCK_MARGIN_MS;
    const isExpired = until <= run.now;
    const isOurs = run.host_id === host.id;
    let hasEnded = isOurs ? await hasSurelyExited(host, run, signal) : isExpired;
    if (isOurs && isExpired && !hasEnded) {
      report.reaped_terminal_workers.push(run.id);
      hasEnded = (await host.terminate(toRun(run), signal)) === "gone";
    }
    if (hasEnded) await board.write(DISPATCHER, (transaction) => confirmRunExit(transaction, run.id), signal);
    else requestPassAt(report, isExpired ? run.now + POLL_AGAIN_MS : until);
  }
}

/** Requires two checks that agree, because a single wrong check must not end a live run. */
async function hasSurelyExited(host: DispatchHost, run: RunRow, signal: AbortSignal): Promise<boolean> {
  for (let check = 0; check < 2; check++) {
    const liveness = await host.isAlive(toRun(run), signal);
    if (liveness !== "dead" && liveness !== "host-restarted") return false;
  }
  return true;
}

class Bookkeeper {
  readonly #parts: PassParts;
  readonly #token: number;
  readonly #report: PassReport;
  readonly #signal: AbortSignal;

  constructor(parts: PassParts, token: number, report: PassReport, signal: AbortSignal) {
    this.#parts = parts;
    this.#token = token;
    this.#report = report;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { board, host, policy } = this.#parts;
    const found = await board.read(() => findBookkeepingWork(policy.failureLimit), this.#signal);
    const suspects: OpenRun[] = [];
    for (const run of found.openRuns) {
      const overdue = classifyOverdue(run, host.id, policy);
      if (overdue === "expired" && !(await this.#isCrash(run))) await this.#reclaim(run);
      else if (overdue === "expired") suspects.push(run);
      else if (overdue === "stale" || overdue === "timed_out") await this.#stop(run, overdue);
      else {
        if (overdue === "check" && (await hasSurelyExited(host, run, this.#signal))) suspects.push(run);
        requestPassAt(this.#report, run.lease_until + CLOCK_MARGIN_MS);
      }
    }
    await this.#endDead(suspects);
    if (policy.reconcileOrphans) {
      for (const id of found.orphans)
        if (await this.#write((transaction) => reconcileOrphan(transaction, id)))
          this.#report.reconciled_orphans.push(id);
    }
    for (const { id, runs } of found.rateLimitedTasks) await this.#giveUpAtRateLimit(id, runs);
    for (const failure of found.massFailures) await this.#giveUpTogether(failure);
    await this.#promote(found.hasDue);
  }

  /** Returns undefined when another process has changed the task or run in the meantime, which is not a failure. */
  async #write<Result>(
    operation: (transaction: BoardTransaction) => Steps<Result>,
  ): Promise<Result | undefined> {
    const token = this.#token;
    try {
      return await this.#parts.board.write(
        DISPATCHER,
        function* (transaction) {
          yield* requireLease(token);
          return yield* operation(transaction);
        },
        this.#signal,
      );
    } catch (error) {
      if (error instanceof AppError && OVERTAKEN.has(error.code)) return undefined;
      throw error;
    }
  }

  async #reclaim(run: OpenRun): Promise<void> {
    if (this.#isOurs(run) && !(await this.#hasExited(run))) return;
    // A run that is lost with its host or supervisor too often in a row counts as a failure, so that retries are bounded.
    const lost: WorkerExit = { outcome: "infra_killed", failureKind: "infra", error: VANISHED };
    const ending = this.#endingOf(run, lost);
    const done = await this.#write(function* (transaction) {
      if (ending.outcome === "infra_killed")
        return yield* reclaimExpired(transaction, run.id, CLOCK_MARGIN_MS);
      yield* endRun(transaction, ending);
      return true;
    });
    if (done === true) this.#report.reclaimed++;
  }

  /** Whether a supervisor of this host has died with its worker, which is a crash even after the lease has expired. */
  async #isCrash(run: OpenRun): Promise<boolean> {
    return this.#isOurs(run) && hasProcesses(run) && hasSurelyExited(this.#parts.host, run, this.#signal);
  }

  async #stop(run: OpenRun, outcome: "stale" | "timed_out"): Promise<void> {
    if (this.#isOurs(run) && !(await this.#hasExited(run))) return;
    const elapsed = Math.round((run.now - run.started_at) / 1_000);
    const detail = { elapsed_seconds: elapsed, pid: run.worker_pid };
    if (await this.#end(run, { outcome, detail })) this.#report[outcome].push(run.task_id);
  }

  async #endDead(suspects: readonly OpenRun[]): Promise<void> {
    const { host } = this.#parts;
    const dead: { run: OpenRun; restarted: boolean }[] = [];
    for (const run of suspects) {
      const liveness = await host.isAlive(toRun(run), this.#signal);
      if (liveness !== "dead" && liveness !== "host-restarted") continue;
      if (await this.#hasExited(run)) dead.push({ run, restarted: liveness === "host-restarted" });
    }
    // A supervisor reports a failed worker. When many supervisors vanish at once, the cause lies outside their tasks.
    const wereKilled = dead.filter(({ restarted }) => !restarted).length >= MANY_VANISHED;
    for (const { run, restarted } of dead) {
      const exit: WorkerExit = restarted
        ? { outcome: "infra_killed", failureKind: "infra", error: "The host was restarted." }
        : wereKilled
          ? { outcome: "infra_killed", failureKind: "infra", error: `${VANISHED} Others vanished too.` }
          : { outcome: "crashed", error: VANISHED };
      const detail = { pid: run.worker_pid, claimer: run.host_id };
      if (await this.#end(run, { ...exit, detail })) this.#report.crashed.push(run.task_id);
    }
  }

  async #end(run: OpenRun, exit: WorkerExit): Promise<boolean> {
    const ending = this.#endingOf(run, exit);
    // The supervisor of another host notices at its next renewal, or kills the processes before its lease expires.
    const exitUnconfirmed = !this.#isOurs(run);
    const ended = await this.#write((transaction) => endRun(transaction, { ...ending, exitUnconfirmed }));
    if (ended?.status === "blocked") this.#report.auto_blocked.push(run.task_id);
    return ended !== undefined;
  }

  #endingOf({ id: runId, failures, forgiven }: OpenRun, exit: WorkerExit): RunEnding {
    const { policy, random } = this.#parts;
    return runEndingOf(exit, { runId, failures, forgiven }, policy, random);
  }

  /** Whether all processes of the run have exited; otherwise extends the lease, so that the task cannot be claimed. */
  async #hasExited(run: OpenRun): Promise<boolean> {
    const result = await this.#parts.host.terminate(toRun(run), this.#signal);
    if (result === "gone" || (result === "unknown" && !hasProcesses(run))) return true;
    const reason = result === "survived" ? "worker survived" : "worker cannot be identified";
    if (await this.#write((transaction) => deferReclaim(transaction, run, reason, DEFER_MS)))
      this.#report.reclaim_deferred.push(run.task_id);
    return false;
  }

  async #giveUpAtRateLimit(taskId: string, runs: number): Promise<void> {
    const reason = `Its profile reached a rate limit ${runs} times in a row.`;
    const blocked = await this.#write((transaction) => blockTask(transaction, taskId, reason, "capability"));
    if (blocked === undefined) return;
    this.#report.rate_limited.push(taskId);
    this.#report.auto_blocked.push(taskId);
  }

  async #giveUpTogether({ tasks, error }: MassFailure): Promise<void> {
    const [line = ""] = error.split("\n");
    const reason = `${tasks.length} tasks have just failed with the same error, so a retry would not help: ${line}`;
    for (const id of tasks)
      if ((await this.#write((transaction) => blockTask(transaction, id, reason, "transient"))) !== undefined)
        this.#report.auto_blocked.push(id);
  }

  async #promote(hasDue: boolean): Promise<void> {
    const { failureLimit } = this.#parts.policy;
    // Reclaimed tasks may have made others due. One transaction promotes a limited number of tasks, hence the loop.
    const { reclaimed, reconciled_orphans, auto_blocked } = this.#report;
    if (!hasDue && reclaimed + reconciled_orphans.length + auto_blocked.length === 0) return;
    for (let woken: readonly string[] | undefined; woken === undefined || woken.length > 0; ) {
      woken = (await this.#write((transaction) => promoteWaitingTasks(transaction, failureLimit))) ?? [];
      this.#report.promoted += woken.length;
    }
  }

  #isOurs(run: RunRow): boolean {
    return run.host_id === this.#parts.host.id;
  }
}

const OVERTAKEN: ReadonlySet<string> = new Set(["run-superseded", "task-move-refused", "task-not-found"]);

function hasProcesses({ supervisor_pid, worker_pid }: RunRow): boolean {
  return supervisor_pid !== null || worker_pid !== null;
}
