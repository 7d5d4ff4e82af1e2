import { setImmediate as nextTurn } from "node:timers/promises";
import { createDispatchBoard, type DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import type { DispatchPolicy } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import { createTask } from "../../src/board/operations/tasks/create-task.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { dispatchPolicy } from "../support/dispatch-policy.ts";
import { type Fault, nextAction } from "./faults.ts";
import { findBreach, findUnsettled, findWorkerBreach } from "./invariants.ts";
import { gatedDatabase, type MemoryDatabase } from "./memory-database.ts";
import { OPERATOR, operate } from "./operator-actions.ts";
import { Scheduler, waitForActors } from "./scheduler.ts";
import { pick, randomBetween, randomStream } from "./seeded-random.ts";
import { SimulatedDispatchers, SLUG, type Wraps } from "./simulated-dispatchers.ts";
import { advanceTime, type HostWorld, SimulatedHost } from "./simulated-host.ts";

export interface HistoryPlan {
  readonly seed: number;
  /** The actions to replay; generated from the seed if omitted. */
  readonly actions?: readonly string[];
  /** How many actions are generated. */
  readonly steps?: number;
  /** Whether the faults stop after the actions, so that all tasks must then settle. */
  readonly thenHeal?: boolean;
  readonly wraps?: Wraps;
}

export interface HistoryResult {
  readonly seed: number;
  /** The actions of the history; `runHistory` repeats it with them. */
  readonly actions: readonly string[];
  readonly transactions: number;
  /** How often each fault took effect. */
  readonly faults: ReadonlyMap<Fault, number>;
  /** The first broken rule, as a sentence; undefined if none was broken. */
  readonly breach: string | undefined;
}

/** The prefix of a breach that is only visible after the healing phase. */
export const AFTER_HEALING = "after the healing";
const STEPS = 120;
const HEALING_STEPS = 4_000;
const PROFILES = ["alpha", "beta"];

/** Runs the history of one board with several dispatchers, hosts and faults; stops at the first breach. */
export async function runHistory(
  memory: MemoryDatabase,
  { seed, actions, steps = STEPS, thenHeal = actions === undefined, wraps = {} }: HistoryPlan,
): Promise<HistoryResult> {
  await nextTurn(); // the steps of a history never yield to the event loop
  const history = new History(memory, seed, wraps);
  await history.begin();
  try {
    if (actions !== undefined) await history.replay(actions);
    else await history.runRandomly(steps);
    if (thenHeal) await history.heal();
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    return history.result(error.message);
  }
  return history.result(undefined);
}

class Breach extends Error {}

class History {
  readonly #memory: MemoryDatabase;
  readonly #seed: number;
  readonly #wraps: Wraps;
  readonly #scheduler = new Scheduler();
  readonly #choose: () => number;
  readonly #hosts: SimulatedHost[] = [];
  readonly #actions: string[] = [];
  readonly #faults = new Map<Fault, number>();
  readonly #dispatchers: SimulatedDispatchers;
  readonly #policy: DispatchPolicy;
  readonly #world: HostWorld;
  #tasks = 0;
  #transactions = 0;
  #isUnreachable = false;
  /** Whether the rows may have changed since the last check. */
  #hasChanged = true;
  #isSettled = false;
  #breach: string | undefined;

  constructor(memory: MemoryDatabase, seed: number, wraps: Wraps) {
    this.#memory = memory;
    this.#seed = seed;
    this.#wraps = wraps;
    this.#choose = randomStream(seed, "choose");
    const random = randomStream(seed, "world");
    const hostCount = randomBetween(random, 1, 3);
    const settings = {
      max_spawn: pick(random, [1, 2, 3, 5, null]),
      max_in_progress: pick(random, [1, 2, 4, 8]),
      max_in_progress_per_profile: pick(random, [null, 1, 2, { alpha: 1 }]),
      failure_limit: randomBetween(random, 1, 3),
      failure_retry_seconds: 600,
      default_assignee: pick(random, ["", "alpha"]),
    };
    this.#policy = dispatchPolicy(settings);
    const [scheduler, policy] = [this.#scheduler, this.#policy];
    this.#world = {
      seed,
      scheduler,
      policy,
      profiles: PROFILES,
      boardFor: (actor) => this.#supervisorBoard(actor),
      isOneHost: hostCount === 1,
      keepsEarlier: wraps.keepsEarlier ?? false,
      healed: false,
    };
    this.#dispatchers = new SimulatedDispatchers({
      seed,
      memory,
      scheduler,
      policy,
      wraps,
      turn: (actor) => this.#turn(actor),
      onBreach: (breach) => {
        this.#breach ??= breach;
      },
    });
    for (let n = 1; n <= hostCount; n++) this.#hosts.push(new SimulatedHost(`h${n}`, this.#world));
  }

  async begin(): Promise<void> {
    this.#memory.reset(() => this.#scheduler.now);
    const random = randomStream(this.#seed, "tasks");
    const ids: string[] = [];
    const count = randomBetween(random, 2, 8);
    const board = this.#ungated();
    for (let n = 0; n < count; n++) {
      const parents = ids.length > 0 && random() < 0.3 ? [pick(random, ids)] : [];
      const details = {
        title: `task ${n}`,
        assignee: pick(random, ["alpha", "alpha", "beta", "stranger", null]),
        priority: randomBetween(random, 0, 2),
        parents,
        ...(random() < 0.5 && { maxRuntimeSeconds: randomBetween(random, 5, 30) }),
      };
      const { task } = await board.write(
        OPERATOR,
        (transaction) => createTask(transaction, details),
        neverAborted,
      );
      ids.push(task.id);
    }
    this.#tasks = count;
    const dispatchers = pick(random, [1, 2, 2, 3, 5]);
    for (let n = 0; n < dispatchers; n++) this.#startDispatcher(pick(random, this.#hosts));
  }

  result(breach: string | undefined): HistoryResult {
    const [seed, actions, transactions, faults] = [
      this.#seed,
      this.#actions,
      this.#transactions,
      this.#faults,
    ];
    return { seed, actions, transactions, faults, breach };
  }

  async replay(actions: readonly string[]): Promise<void> {
    for (const action of actions) await this.#act(action);
  }

  async runRandomly(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) await this.#act(this.#nextAction());
  }

  async heal(): Promise<void> {
    await this.#act("heal");
    for (let step = 0; step < HEALING_STEPS && !this.#isSettled; step++) await this.#act(this.#nextAction());
    await this.#act("end");
  }

  #nextAction(): string {
    const { waiting, nextDue, now } = this.#scheduler;
    const { healed } = this.#world;
    const [isUnreachable, hosts, tasks] = [this.#isUnreachable, this.#hosts, this.#tasks];
    const dispatchers = this.#dispatchers.names;
    return nextAction(
      { waiting, nextDue, now, healed, isUnreachable, hosts, dispatchers, tasks },
      this.#choose,
    );
  }

  async #act(action: string): Promise<void> {
    this.#actions.push(action);
    const [verb = "", who = "", what = ""] = action.split(" ");
    await this.#perform(verb, who, what);
    await waitForActors();
    this.#check();
  }

  async #perform(verb: string, who: string, what: string): Promise<void> {
    const host = this.#hosts.find(({ id }) => id === who);
    const run = host?.runs.get(Number(what));
    switch (verb) {
      case "go":
        if (!this.#isUnreachable) this.#scheduler.grant(who);
        else if (this.#scheduler.refuse(who)) this.#count("database is unreachable");
        return;
      case "crash-before":
      case "crash-after":
        return this.#crash(who, verb === "crash-after" && !this.#isUnreachable);
      case "advance":
        return advanceTime(this.#scheduler, this.#hosts, Number(who));
      case "start-dispatcher":
        if (host !== undefined) this.#startDispatcher(host);
        return;
      case "duplicate":
        if (this.#dispatchers.duplicate(who)) this.#count("second pass of one dispatcher");
        return;
      case "skew":
        if (host === undefined) return;
        host.skewMs = Number(what);
        this.#count("clock of a host is moved");
        return advanceTime(this.#scheduler, this.#hosts, 0);
      case "database":
        this.#isUnreachable = who === "unreachable";
        return;
      case "kill":
        if (host?.kill(run) === true) this.#count("supervisor dies between transactions");
        return;
      case "kill-worker":
        if (run?.worker !== true) return;
        run.worker = false;
        return this.#count("worker dies alone");
      case "suspend":
        if (run?.supervisor !== true || run.suspended) return;
        run.suspended = true;
        this.#scheduler.kill(run.actor);
        return this.#count("supervisor is suspended");
      case "heal":
        return this.#heal();
      case "end":
        return this.#end();
      default:
        return this.#operate(verb, Number(who));
    }
  }

  #count(fault: Fault): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  /** Kills an actor before or after its next transaction. */
  #crash(actor: string, isDone: boolean): void {
    if (!this.#scheduler.waiting.includes(actor)) return;
    const kind = actor.startsWith("d") ? "dispatcher" : "supervisor";
    this.#count(`${kind} dies ${isDone ? "after" : "before"} its transaction`);
    if (isDone) this.#scheduler.grant(actor, true);
    this.#scheduler.kill(actor);
    this.#dispatchers.remove(actor);
    for (const host of this.#hosts)
      for (const run of host.runs.values()) if (run.actor === actor) host.kill(run); // a worker ends with its supervisor
  }

  #startDispatcher(host: SimulatedHost): void {
    this.#dispatchers.start(host);
    const { length } = this.#dispatchers.names;
    if (length === 2) this.#count("two dispatchers at once");
    if (length === 5) this.#count("five dispatchers at once");
  }

  #turn(actor: string): <Result>(kind: "read" | "write", work: () => Result) => Promise<Result> {
    return (kind, work) =>
      this.#scheduler.transaction(actor, () => {
        this.#transactions++;
        if (kind === "write") this.#hasChanged = true;
        return work();
      });
  }

  #supervisorBoard(actor: string): DispatchBoard {
    const board = createDispatchBoard(SLUG, gatedDatabase(this.#memory, this.#turn(actor)));
    return this.#wraps.supervisorBoard?.(board) ?? board;
  }

  #ungated(): DispatchBoard {
    return createDispatchBoard(
      SLUG,
      gatedDatabase(this.#memory, async (_, work) => work()),
    );
  }

  async #operate(verb: string, nth: number): Promise<void> {
    this.#hasChanged = true;
    if (verb === "pause" || verb === "resume") this.#dispatchers.disturb();
    await operate(this.#ungated(), this.#memory, verb, nth);
  }

  async #heal(): Promise<void> {
    this.#world.healed = true;
    this.#isUnreachable = false;
    await this.#operate("resume", 1);
    for (let nth = 1; nth <= this.#tasks; nth++) await this.#operate("unhold", nth);
    // Replaces all dispatchers with one per host, which is enough for the healing phase.
    for (const name of this.#dispatchers.names) {
      this.#scheduler.kill(name);
      this.#dispatchers.remove(name);
    }
    for (const host of this.#hosts) {
      host.skewMs = 0;
      this.#startDispatcher(host);
    }
  }

  #check(): void {
    this.#breach ??= findWorkerBreach(this.#hosts, this.#policy);
    if (this.#hasChanged) {
      this.#breach ??= findBreach(this.#memory, this.#policy, this.#tasks);
      this.#isSettled = this.#world.healed && this.#unsettled().length === 0;
    }
    this.#hasChanged = false;
    if (this.#breach !== undefined) throw new Breach(this.#breach);
  }

  #unsettled(): readonly string[] {
    return findUnsettled(this.#memory, this.#policy, PROFILES);
  }

  #end(): void {
    const [first] = this.#unsettled();
    if (first !== undefined) this.#breach ??= `${AFTER_HEALING} ${first}`;
  }
}
