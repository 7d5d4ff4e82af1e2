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
import { describeRun, endRun, renewRun } from "../operations/runs.ts";
import type { Run } from "../task.ts";
import type { Scheduler } from "./scheduler.ts";
import { between, pick, randomStream } from "./seeded-random.ts";

/** The processes of one run. */
export interface SimulatedRun {
  readonly runId: number;
  readonly taskId: string;
  readonly actor: string;
  supervisor: boolean;
  worker: boolean;
  /** Neither renews nor kills, but its worker goes on. */
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
  /** From here on nothing goes wrong by itself. */
  healed: boolean;
}

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

  async start(claimed: ClaimedTask): Promise<StartResult> {
    const luck = this.#world.healed ? 1 : this.#random();
    if (luck < 0.05) return { kind: "failed", cause: "workspace", error: "no folder" };
    if (luck < 0.1) return { kind: "failed", cause: "infrastructure", error: "no room" };
    if (luck < 0.13) throw new Error("no program");
    const { run, task } = claimed;
    const started: SimulatedRun = {
      runId: run.id,
      taskId: task.id,
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
    const run = this.runs.get(id);
    if (run !== undefined) this.kill(run);
    return "gone";
  }

  async memoryPressure() {
    return "none" as const;
  }

  async runningElsewhere() {
    return 0;
  }

  kill(run: SimulatedRun): void {
    run.supervisor = false;
    run.worker = false;
    this.#world.scheduler.kill(run.actor);
  }

  /** What a supervisor's own timer does, however busy everyone is. */
  enforceDeadlines(now: number): void {
    for (const run of this.runs.values()) {
      if (run.supervisor && !run.frozen && run.deadline <= now + this.skewMs) this.kill(run);
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
    run.deadline = scheduler.now + this.skewMs + RUN_LEASE_MS;
    while ((await renew()) === "away") await clock.sleep(1_000, signal);
    run.worker = true;
    const pid = 100 + run.runId;
    const facts = { supervisorPid: pid, workerPid: pid, workerIdentity: "simulated" };
    while (
      (await board.write(caller, (change) => told(describeRun(change, facts)), signal).catch(awayOrThrow)) !==
      true
    )
      await clock.sleep(1_000, signal);
    const plan = this.#world.healed ? "complete" : pick(random, PLANS);
    const ends =
      plan === "hang"
        ? Number.POSITIVE_INFINITY
        : scheduler.now + between(random, 1_000, this.#world.healed ? 2_000 : 45_000);
    while (scheduler.now < ends) {
      // After the healing even a worker that hangs comes to its end.
      if (plan === "hang" && this.#world.healed) break;
      const state = await renew();
      const wait = state === "kept" ? RENEW_EVERY_MS : 1_000;
      await clock.sleep(Math.min(wait, ends - scheduler.now), signal);
    }
    const failures = task.consecutive_failures;
    const finish = async (): Promise<true | undefined> => {
      if (plan === "complete" || plan === "hang") {
        await board.write(caller, (change) => completeTask(change, task.id, { summary: "done" }), signal);
      } else if (plan === "block") {
        await board.write(caller, (change) => blockTask(change, task.id, "no", "needs_input"), signal);
      } else {
        run.worker = false; // it has ended by itself, which its supervisor now reports
        const exit = {
          crash: "crashed",
          "rate-limit": "rate_limited",
          silence: "protocol_violation",
        } as const;
        const ending = runEndingOf({ outcome: exit[plan] }, { runId: run.runId, failures }, policy, random);
        await board.write(caller, (change) => endRun(change, ending), signal);
      }
      return true;
    };
    while ((await finish().catch(awayOrThrow)) !== true) await clock.sleep(1_000, signal);
  }
}

function* told(steps: Steps<void>): Steps<true> {
  yield* steps;
  return true;
}

/** The database may come back; everything else ends the supervisor. */
function awayOrThrow(error: unknown): undefined {
  if (error instanceof AppError && error.code === "database-unavailable") return undefined;
  throw error;
}
