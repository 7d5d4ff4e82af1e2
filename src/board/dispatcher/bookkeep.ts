import { AppError } from "../../lib/errors.ts";
import type { Change } from "../change.ts";
import type { Steps } from "../database/steps.ts";
import { blockTask } from "../operations/finish.ts";
import { findLeaving, seeEnd } from "../operations/leaving.ts";
import { type RunRow, toRun } from "../operations/load.ts";
import { recompute } from "../operations/recompute.ts";
import { endRun, type RunEnding, reclaimExpired } from "../operations/runs.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { DispatchHost } from "./host.ts";
import { LeaseLost, requireLease } from "./operations/board-lease.ts";
import type { MassFailure } from "./operations/find-mass-failure.ts";
import { findOverdue, type OpenRun } from "./operations/find-work.ts";
import { deferReclaim, endFromAfar, reconcileOrphan } from "./operations/take-back.ts";
import { overdueOf } from "./overdue.ts";
import { runEndingOf, VANISHED, type WorkerExit } from "./run-ending.ts";
import { CLOCK_MARGIN_MS } from "./run-lease.ts";
import type { TickParts } from "./tick-parts.ts";
import { expectPass, type TickReport } from "./tick-report.ts";

const DEFER_MS = 120_000;
const MANY_VANISHED = 3;
const LOOK_AGAIN_MS = 5_000;

/** Puts the board in order, as the holder of its lease; stops where another dispatcher has taken it. */
export async function bookkeep(
  parts: TickParts,
  token: number,
  report: TickReport,
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
 * Lets go of runs that are over: those of this host once nothing of them lives, those of others once their lease is over,
 * by which their supervisors have ended them. What lives on here after that is ended. Needs no lease of the board,
 * because what it writes is true whoever says it.
 */
export async function seeEnds(
  { board, host }: TickParts,
  report: TickReport,
  signal: AbortSignal,
): Promise<void> {
  for (const run of await board.read(findLeaving, signal)) {
    const until = run.lease_until + CLOCK_MARGIN_MS;
    const isLate = until <= run.now;
    const isOurs = run.host_id === host.id;
    let isGone = isOurs ? await isSurelyDead(host, run, signal) : isLate;
    if (isOurs && isLate && !isGone) {
      report.reaped_terminal_workers.push(run.id);
      isGone = (await host.terminate(toRun(run), signal)) === "gone";
    }
    if (isGone) await board.write(DISPATCHER, (change) => seeEnd(change, run.id), signal);
    else expectPass(report, isLate ? run.now + LOOK_AGAIN_MS : until);
  }
}

/** Two looks that agree: one that went wrong must not cost a live run its task. */
async function isSurelyDead(host: DispatchHost, run: RunRow, signal: AbortSignal): Promise<boolean> {
  for (let look = 0; look < 2; look++) {
    const liveness = await host.isAlive(toRun(run), signal);
    if (liveness !== "dead" && liveness !== "host-restarted") return false;
  }
  return true;
}

class Bookkeeper {
  readonly #parts: TickParts;
  readonly #token: number;
  readonly #report: TickReport;
  readonly #signal: AbortSignal;

  constructor(parts: TickParts, token: number, report: TickReport, signal: AbortSignal) {
    this.#parts = parts;
    this.#token = token;
    this.#report = report;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { board, host, policy } = this.#parts;
    const found = await board.read(() => findOverdue(policy.failureLimit), this.#signal);
    const suspects: OpenRun[] = [];
    for (const run of found.openRuns) {
      const overdue = overdueOf(run, host.id, policy);
      if (overdue === "expired" && !(await this.#isCrash(run))) await this.#reclaim(run);
      else if (overdue === "expired") suspects.push(run);
      else if (overdue === "stale" || overdue === "timed_out") await this.#stop(run, overdue);
      else {
        if (overdue === "check" && (await isSurelyDead(host, run, this.#signal))) suspects.push(run);
        expectPass(this.#report, run.lease_until + CLOCK_MARGIN_MS);
      }
    }
    await this.#bury(suspects);
    if (policy.reconcileOrphans) {
      for (const id of found.orphans)
        if (await this.#write((change) => reconcileOrphan(change, id)))
          this.#report.reconciled_orphans.push(id);
    }
    for (const { id, runs } of found.walls) await this.#giveUpAtWall(id, runs);
    for (const failure of found.massFailures) await this.#giveUpTogether(failure);
    await this.#promote(found.hasDue);
  }

  /** Undefined when what was looked at has changed meanwhile, which is someone else's doing and no failure. */
  async #write<Result>(operation: (change: Change) => Steps<Result>): Promise<Result | undefined> {
    const token = this.#token;
    try {
      return await this.#parts.board.write(
        DISPATCHER,
        function* (change) {
          yield* requireLease(token);
          return yield* operation(change);
        },
        this.#signal,
      );
    } catch (error) {
      if (error instanceof AppError && OVERTAKEN.has(error.code)) return undefined;
      throw error;
    }
  }

  async #reclaim(run: OpenRun): Promise<void> {
    if (this.#isOurs(run) && !(await this.#isGone(run))) return;
    // Lost with its host or its supervisor again and again, it counts: each start counts somewhere.
    const lost: WorkerExit = { outcome: "infra_killed", failureKind: "infra", error: VANISHED };
    const ending = this.#endingOf(run, lost);
    const done = await this.#write(function* (change) {
      if (ending.outcome === "infra_killed") return yield* reclaimExpired(change, run.id, CLOCK_MARGIN_MS);
      yield* endRun(change, ending);
      return true;
    });
    if (done === true) this.#report.reclaimed++;
  }

  /** Whether a supervisor of this host has died with its worker: seen only after its lease, it counts all the same. */
  async #isCrash(run: OpenRun): Promise<boolean> {
    return this.#isOurs(run) && hasProcesses(run) && isSurelyDead(this.#parts.host, run, this.#signal);
  }

  async #stop(run: OpenRun, outcome: "stale" | "timed_out"): Promise<void> {
    if (this.#isOurs(run) && !(await this.#isGone(run))) return;
    const elapsed = Math.round((run.now - run.started_at) / 1_000);
    const detail = { elapsed_seconds: elapsed, pid: run.worker_pid };
    if (await this.#end(run, { outcome, detail })) this.#report[outcome].push(run.task_id);
  }

  async #bury(suspects: readonly OpenRun[]): Promise<void> {
    const { host } = this.#parts;
    const dead: { run: OpenRun; restarted: boolean }[] = [];
    for (const run of suspects) {
      const liveness = await host.isAlive(toRun(run), this.#signal);
      if (liveness !== "dead" && liveness !== "host-restarted") continue;
      if (await this.#isGone(run)) dead.push({ run, restarted: liveness === "host-restarted" });
    }
    // A worker that fails is reported by its supervisor. What ends so many together with theirs is none of their doing.
    const wereKilled = dead.filter(({ restarted }) => !restarted).length >= MANY_VANISHED;
    for (const { run, restarted } of dead) {
      const exit: WorkerExit = restarted
        ? { outcome: "infra_killed", failureKind: "infra", error: "The host was restarted." }
        : wereKilled
          ? { outcome: "infra_killed", failureKind: "infra", error: `${VANISHED} So did others.` }
          : { outcome: "crashed", error: VANISHED };
      const detail = { pid: run.worker_pid, claimer: run.host_id };
      if (await this.#end(run, { ...exit, detail })) this.#report.crashed.push(run.task_id);
    }
  }

  async #end(run: OpenRun, exit: WorkerExit): Promise<boolean> {
    const ending = this.#endingOf(run, exit);
    const ended = await this.#write((change) =>
      this.#isOurs(run) ? endRun(change, ending) : endFromAfar(change, ending),
    );
    if (ended?.status === "blocked") this.#report.auto_blocked.push(run.task_id);
    return ended !== undefined;
  }

  #endingOf({ id: runId, failures, forgiven }: OpenRun, exit: WorkerExit): RunEnding {
    const { policy, random } = this.#parts;
    return runEndingOf(exit, { runId, failures, forgiven }, policy, random);
  }

  /** Whether nothing of the run lives; if it may, the task is kept from others for a while. */
  async #isGone(run: OpenRun): Promise<boolean> {
    const result = await this.#parts.host.terminate(toRun(run), this.#signal);
    if (result === "gone" || (result === "unknown" && !hasProcesses(run))) return true;
    const reason = result === "survived" ? "worker survived" : "worker cannot be identified";
    if (await this.#write((change) => deferReclaim(change, run, reason, DEFER_MS)))
      this.#report.reclaim_deferred.push(run.task_id);
    return false;
  }

  async #giveUpAtWall(taskId: string, runs: number): Promise<void> {
    const reason = `Its profile met a rate limit ${runs} times in a row.`;
    const blocked = await this.#write((change) => blockTask(change, taskId, reason, "capability"));
    if (blocked === undefined) return;
    this.#report.rate_limited.push(taskId);
    this.#report.auto_blocked.push(taskId);
  }

  async #giveUpTogether({ tasks, error }: MassFailure): Promise<void> {
    const [line = ""] = error.split("\n");
    const reason = `${tasks.length} tasks have just failed alike, so trying again would not help: ${line}`;
    for (const id of tasks)
      if ((await this.#write((change) => blockTask(change, id, reason, "transient"))) !== undefined)
        this.#report.auto_blocked.push(id);
  }

  async #promote(hasDue: boolean): Promise<void> {
    const { failureLimit } = this.#parts.policy;
    // Taking tasks back may have made others due, and one transaction takes only so many.
    const { reclaimed, reconciled_orphans, auto_blocked } = this.#report;
    if (!hasDue && reclaimed + reconciled_orphans.length + auto_blocked.length === 0) return;
    for (let woken: readonly string[] | undefined; woken === undefined || woken.length > 0; ) {
      woken = (await this.#write((change) => recompute(change, failureLimit))) ?? [];
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
