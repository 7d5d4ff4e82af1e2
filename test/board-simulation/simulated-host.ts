import type { Caller } from "../../src/board/caller.ts";
import type { Steps } from "../../src/board/database/steps.ts";
import type { DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import type {
  DispatchHost,
  RunLiveness,
  StartResult,
  Termination,
} from "../../src/board/dispatcher/dispatch-host.ts";
import type { DispatchPolicy } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import { runEndingOf } from "../../src/board/dispatcher/rules/run-ending.ts";
import { RENEW_EVERY_MS, RUN_LEASE_MS } from "../../src/board/dispatcher/rules/run-lease.ts";
import type { ClaimedTask } from "../../src/board/operations/runs/claim.ts";
import { endRun } from "../../src/board/operations/runs/end-run.ts";
import { confirmRunExit } from "../../src/board/operations/runs/leaving-runs.ts";
import { describeRun, renewRun, type WorkerFacts } from "../../src/board/operations/runs/renew-run.ts";
import { blockTask, completeTask } from "../../src/board/operations/tasks/end-task.ts";
import type { Run } from "../../src/board/task.ts";
import { AppError } from "../../src/lib/errors.ts";
import type { Scheduler } from "./scheduler.ts";
import { pick, randomBetween, randomStream } from "./seeded-random.ts";

/** The processes of one run. */
export interface SimulatedRun {
  readonly runId: number;
  readonly taskId: string;
  /** The number of the task, which is the same in a replay of the history. */
  readonly taskNumber: number;
  readonly actor: string;
  supervisor: boolean;
  worker: boolean;
  /** The supervisor neither renews nor kills, but its worker keeps running. */
  suspended: boolean;
  /** When the worker is killed unless the lease is renewed, on the clock of its host. */
  deadline: number;
}

export interface HostWorld {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly policy: DispatchPolicy;
  readonly profiles: readonly string[];
  /** The board as a supervisor uses it. */
  boardFor(actor: string): DispatchBoard;
  readonly isOneHost: boolean;
  /** Whether a start leaves the processes of an earlier run of its task alive. */
  readonly keepsEarlier: boolean;
  /** Whether the faults have stopped. */
  healed: boolean;
}

/** How long a worker may live after it has reported its result, as with a real supervisor. */
const CLOSING_MS = 15_000;

type Plan = "complete" | "crash" | "rate-limit" | "silence" | "block" | "hang";
const PLANS: readonly Plan[] = [
  ...Array<Plan>(5).fill("complete"),
  ...Array<Plan>(3).fill("hang"),
  "crash",
  "rate-limit",
  "silence",
  "block",
];

/** A host with its own clock, whose supervisors and workers run in virtual time. */
export class SimulatedHost implements DispatchHost {
  readonly id: string;
  readonly runs = new Map<number, SimulatedRun>();
  /** The difference of its clock to the database's clock. */
  skewMs = 0;
  readonly #world: HostWorld;
  readonly #random: () => number;

  constructor(id: string, world: HostWorld) {
    this.id = id;
    this.#world = world;
    this.#random = randomStream(world.seed, id);
  }

  async runnable(profile: string) {
    if (this.#world.profiles.includes(profile)) return { ok: true } as const;
    return { ok: false, reason: "There is no such profile." } as const;
  }

  async routeOf(profile: string) {
    return profile;
  }

  async findBranchUser() {
    return undefined;
  }

  async start(claimed: ClaimedTask): Promise<StartResult> {
    const draw = this.#world.healed ? 1 : this.#random();
    if (draw < 0.05) return { kind: "failed", cause: "workspace", error: "no folder" };
    if (draw < 0.1) return { kind: "failed", cause: "infrastructure", error: "no room" };
    if (draw < 0.13) throw new Error("no program");
    const { run, task } = claimed;
    // Like the real host: processes of an earlier run must not write to the workspace.
    if (!this.#world.keepsEarlier)
      for (const earlier of this.runs.values()) if (earlier.taskId === task.id) this.kill(earlier);
    const started: SimulatedRun = {
      runId: run.id,
      taskId: task.id,
      taskNumber: task.seq,
      actor: `s${run.id}`,
      supervisor: true,
      worker: false,
      suspended: false,
      deadline: Number.POSITIVE_INFINITY,
    };
    this.runs.set(run.id, started);
    void this.#supervise(started, claimed).then(
      () => this.kill(started),
      () => this.kill(started),
    );
    return { kind: "started", workspace: "/simulated" };
  }

  async isAlive({ id }: Run): Promise<RunLiveness> {
    const run = this.runs.get(id);
    return run !== undefined && (run.supervisor || run.worker) ? "alive" : "dead";
  }

  async terminate({ id }: Run): Promise<Termination> {
    this.kill(this.runs.get(id));
    return "gone";
  }

  async memoryPressure() {
    return "none" as const;
  }

  async runningElsewhere() {
    return 0;
  }

  async reserveSlot() {
    return { giveTo: async () => undefined, release: async () => undefined };
  }

  /** Kills all processes of a run; false when none was alive. */
  kill(run: SimulatedRun | undefined): boolean {
    if (run === undefined || !(run.supervisor || run.worker)) return false;
    run.supervisor = false;
    run.worker = false;
    this.#world.scheduler.kill(run.actor);
    return true;
  }

  /**
   * Does what the timers of supervisors and workers do. A worker whose supervisor is suspended ends itself; on a single host,
   * where safety does not depend on that, it may be too busy to notice.
   */
  enforceDeadlines(now: number): void {
    for (const run of this.runs.values()) {
      const ignoresDeadline = run.suspended && this.#world.isOneHost;
      if (!ignoresDeadline && run.deadline <= now + this.skewMs) this.kill(run);
    }
  }

  async #supervise(run: SimulatedRun, claimed: ClaimedTask): Promise<void> {
    const { scheduler, policy } = this.#world;
    const random = randomStream(this.#world.seed, `run ${claimed.run.id}`);
    const clock = scheduler.clockOf(run.actor);
    const { signal } = new AbortController(); // not shared, because a shared signal would collect the listeners of all
    const board = this.#world.boardFor(run.actor);
    const { task, token } = claimed;
    const caller: Caller = {
      kind: "run",
      profile: claimed.run.profile ?? "",
      taskId: task.id,
      runId: run.runId,
      token,
    };
    const renew = async (): Promise<"kept" | "unreachable"> => {
      const requestedAt = scheduler.now + this.skewMs;
      const result = await board
        .write(caller, (transaction) => renewRun(transaction), signal)
        .catch(undefinedIfUnreachable);
      if (result === undefined) return "unreachable";
      run.deadline = requestedAt + RUN_LEASE_MS;
      return "kept";
    };
    const retryWhileUnreachable = async (attempt: () => Promise<true | undefined>): Promise<void> => {
      while ((await attempt().catch(undefinedIfUnreachable)) !== true) await clock.sleep(1_000, signal);
    };
    const describe = (facts: WorkerFacts) => () =>
      board.write(caller, (transaction) => returningTrue(describeRun(transaction, facts)), signal);
    const pid = 100 + run.runId;
    run.deadline = scheduler.now + this.skewMs + RUN_LEASE_MS;
    await retryWhileUnreachable(async () => ((await renew()) === "kept" ? true : undefined));
    await retryWhileUnreachable(describe({ supervisorPid: pid }));
    run.worker = true;
    await retryWhileUnreachable(describe({ workerPid: pid, workerIdentity: "simulated" }));
    const plan = this.#world.healed ? "complete" : pick(random, PLANS);
    const ends =
      plan === "hang"
        ? Number.POSITIVE_INFINITY
        : scheduler.now + randomBetween(random, 1_000, this.#world.healed ? 2_000 : 45_000);
    while (scheduler.now < ends && run.worker) {
      // In the healing phase even a hanging worker ends.
      if (plan === "hang" && this.#world.healed) break;
      const state = await renew();
      const wait = state === "kept" ? RENEW_EVERY_MS : 1_000;
      await clock.sleep(Math.min(wait, ends - scheduler.now), signal);
    }
    const failures = task.consecutive_failures;
    const end = run.worker ? plan : "crash"; // the worker has died
    const finish = async (): Promise<true | undefined> => {
      if (end === "complete" || end === "hang") {
        await board.write(
          caller,
          (transaction) => completeTask(transaction, task.id, { summary: "done" }),
          signal,
        );
      } else if (end === "block") {
        await board.write(
          caller,
          (transaction) => blockTask(transaction, task.id, "no", "needs_input"),
          signal,
        );
      } else {
        run.worker = false; // the worker exits, and its supervisor reports the exit
        const exit = {
          crash: "crashed",
          "rate-limit": "rate_limited",
          silence: "protocol_violation",
        } as const;
        const ending = runEndingOf({ outcome: exit[end] }, { runId: run.runId, failures }, policy, random);
        await board.write(caller, (transaction) => endRun(transaction, ending), signal);
      }
      return true;
    };
    await retryWhileUnreachable(finish);
    if (run.worker) await clock.sleep(randomBetween(random, 0, CLOSING_MS), signal); // the worker exits a while after its result
    run.worker = false;
    await retryWhileUnreachable(() =>
      board.write(
        { kind: "system", name: "supervisor" },
        (transaction) => returningTrue(confirmRunExit(transaction, run.runId)),
        signal,
      ),
    );
  }
}

/** Advances one second at a time, so that deadlines and sleepers fire in order. */
export function advanceTime(scheduler: Scheduler, hosts: readonly SimulatedHost[], ms: number): void {
  const target = scheduler.now + ms;
  do {
    scheduler.advanceTo(Math.min(target, scheduler.now + 1_000));
    for (const host of hosts) host.enforceDeadlines(scheduler.now);
  } while (scheduler.now < target);
}

function* returningTrue(steps: Steps<unknown>): Steps<true> {
  yield* steps;
  return true;
}

/** Returns undefined for an unreachable database; every other error ends the supervisor. */
function undefinedIfUnreachable(error: unknown): undefined {
  if (error instanceof AppError && error.code === "database-unavailable") return undefined;
  throw error;
}
