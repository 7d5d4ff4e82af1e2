import { AppError } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import type { Steps } from "../database/steps.ts";
import type { DispatchBoard } from "../dispatcher/dispatch-board.ts";
import type { DispatchHost, RunLiveness, StartResult, Termination } from "../dispatcher/host.ts";
import type { DispatchPolicy } from "../dispatcher/resolve-dispatch-policy.ts";
import { runEndingOf } from "../dispatcher/run-ending.ts";
import { RENEW_EVERY_MS, RUN_LEASE_MS } from "../dispatcher/run-lease.ts";
import type { ClaimedTask } from "../operations/claim.ts";
import { blockTask, completeTask } from "../operations/finish.ts";
import { seeEnd } from "../operations/leaving.ts";
import { describeRun, endRun, renewRun, type WorkerFacts } from "../operations/runs.ts";
import type { Run } from "../task.ts";
import type { Scheduler } from "./scheduler.ts";
import { between, pick, randomStream } from "./seeded-random.ts";

/** The processes of one run. */
export interface SimulatedRun {
  readonly runId: number;
  readonly taskId: string;
  /** Its place among the tasks of the history, which stays the same when it is repeated. */
  readonly taskNumber: number;
  readonly actor: string;
  supervisor: boolean;
  worker: boolean;
  /** Its supervisor neither renews nor kills, but its worker goes on. */
  frozen: boolean;
  /** On the clock of its host: the worker is dead by then unless the lease was renewed. */
  deadline: number;
}

export interface HostWorld {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly policy: DispatchPolicy;
  readonly profiles: readonly string[];
  /** The board in the hands of a supervisor. */
  boardFor(actor: string): DispatchBoard;
  readonly isOneHost: boolean;
  /** A start does not end what an earlier run of its task has left behind. */
  readonly keepsEarlier: boolean;
  /** From here on nothing goes wrong by itself. */
  healed: boolean;
}

/** As long as a real supervisor lets a worker live that has handed in its result. */
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

/** A machine whose supervisors and workers live in virtual time, with a clock of its own. */
export class SimulatedHost implements DispatchHost {
  readonly id: string;
  readonly runs = new Map<number, SimulatedRun>();
  /** How far its clock is from that of the database. */
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
    const luck = this.#world.healed ? 1 : this.#random();
    if (luck < 0.05) return { kind: "failed", cause: "workspace", error: "no folder" };
    if (luck < 0.1) return { kind: "failed", cause: "infrastructure", error: "no room" };
    if (luck < 0.13) throw new Error("no program");
    const { run, task } = claimed;
    // As the real one does: what an earlier run left behind here must not write any more.
    if (!this.#world.keepsEarlier)
      for (const earlier of this.runs.values()) if (earlier.taskId === task.id) this.kill(earlier);
    const started: SimulatedRun = {
      runId: run.id,
      taskId: task.id,
      taskNumber: task.seq,
      actor: `s${run.id}`,
      supervisor: true,
      worker: false,
      frozen: false,
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

  /** Ends all of a run; false when nothing of it lived. */
  kill(run: SimulatedRun | undefined): boolean {
    if (run === undefined || !(run.supervisor || run.worker)) return false;
    run.supervisor = false;
    run.worker = false;
    this.#world.scheduler.kill(run.actor);
    return true;
  }

  /**
   * What the timers of supervisors and workers do, however busy everyone is. A worker whose supervisor is halted ends
   * itself too; on a single host, where nothing depends on that, it may be too busy to notice.
   */
  enforceDeadlines(now: number): void {
    for (const run of this.runs.values()) {
      const isDeaf = run.frozen && this.#world.isOneHost;
      if (!isDeaf && run.deadline <= now + this.skewMs) this.kill(run);
    }
  }

  async #supervise(run: SimulatedRun, claimed: ClaimedTask): Promise<void> {
    const { scheduler, policy } = this.#world;
    const random = randomStream(this.#world.seed, `run ${claimed.run.id}`);
    const clock = scheduler.clockOf(run.actor);
    const { signal } = new AbortController(); // its own: one shared by all would collect their listeners
    const board = this.#world.boardFor(run.actor);
    const { task, token } = claimed;
    const caller: Caller = {
      kind: "run",
      profile: claimed.run.profile ?? "",
      taskId: task.id,
      runId: run.runId,
      token,
    };
    const renew = async (): Promise<"kept" | "away"> => {
      const asked = scheduler.now + this.skewMs;
      const result = await board.write(caller, (change) => renewRun(change), signal).catch(awayOrThrow);
      if (result === undefined) return "away";
      run.deadline = asked + RUN_LEASE_MS;
      return "kept";
    };
    const patiently = async (attempt: () => Promise<true | undefined>): Promise<void> => {
      while ((await attempt().catch(awayOrThrow)) !== true) await clock.sleep(1_000, signal);
    };
    const describe = (facts: WorkerFacts) => () =>
      board.write(caller, (change) => told(describeRun(change, facts)), signal);
    const pid = 100 + run.runId;
    run.deadline = scheduler.now + this.skewMs + RUN_LEASE_MS;
    await patiently(async () => ((await renew()) === "kept" ? true : undefined));
    await patiently(describe({ supervisorPid: pid }));
    run.worker = true;
    await patiently(describe({ workerPid: pid, workerIdentity: "simulated" }));
    const plan = this.#world.healed ? "complete" : pick(random, PLANS);
    const ends =
      plan === "hang"
        ? Number.POSITIVE_INFINITY
        : scheduler.now + between(random, 1_000, this.#world.healed ? 2_000 : 45_000);
    while (scheduler.now < ends && run.worker) {
      // After the healing even a worker that hangs comes to its end.
      if (plan === "hang" && this.#world.healed) break;
      const state = await renew();
      const wait = state === "kept" ? RENEW_EVERY_MS : 1_000;
      await clock.sleep(Math.min(wait, ends - scheduler.now), signal);
    }
    const failures = task.consecutive_failures;
    const end = run.worker ? plan : "crash"; // a worker that died by itself
    const finish = async (): Promise<true | undefined> => {
      if (end === "complete" || end === "hang") {
        await board.write(caller, (change) => completeTask(change, task.id, { summary: "done" }), signal);
      } else if (end === "block") {
        await board.write(caller, (change) => blockTask(change, task.id, "no", "needs_input"), signal);
      } else {
        run.worker = false; // it has ended by itself, which its supervisor now reports
        const exit = {
          crash: "crashed",
          "rate-limit": "rate_limited",
          silence: "protocol_violation",
        } as const;
        const ending = runEndingOf({ outcome: exit[end] }, { runId: run.runId, failures }, policy, random);
        await board.write(caller, (change) => endRun(change, ending), signal);
      }
      return true;
    };
    await patiently(finish);
    if (run.worker) await clock.sleep(between(random, 0, CLOSING_MS), signal); // it still says goodbye
    run.worker = false;
    await patiently(() =>
      board.write(
        { kind: "system", name: "supervisor" },
        (change) => told(seeEnd(change, run.runId)),
        signal,
      ),
    );
  }
}

/** A second at a time, so that the timer of every supervisor and every sleeper has its moment. */
export function passTime(scheduler: Scheduler, hosts: readonly SimulatedHost[], ms: number): void {
  const target = scheduler.now + ms;
  do {
    scheduler.advanceTo(Math.min(target, scheduler.now + 1_000));
    for (const host of hosts) host.enforceDeadlines(scheduler.now);
  } while (scheduler.now < target);
}

function* told(steps: Steps<unknown>): Steps<true> {
  yield* steps;
  return true;
}

/** The database may come back; everything else ends the supervisor. */
function awayOrThrow(error: unknown): undefined {
  if (error instanceof AppError && error.code === "database-unavailable") return undefined;
  throw error;
}
