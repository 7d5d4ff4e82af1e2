import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError } from "../../lib/errors.ts";
import type { Answer, Query } from "../database/steps.ts";
import { type DispatchBoard, wrapDatabase } from "../dispatcher/dispatch-board.ts";
import { dispatchTick } from "../dispatcher/dispatch-tick.ts";
import type { DispatchHost } from "../dispatcher/host.ts";
import type { Eligible } from "../dispatcher/operations/list-eligible.ts";
import { type DispatchPolicy, resolveDispatchPolicy } from "../dispatcher/resolve-dispatch-policy.ts";
import { CLOCK_MARGIN_MS } from "../dispatcher/run-lease.ts";
import type { TickParts } from "../dispatcher/tick-parts.ts";
import { createTask } from "../operations/create-task.ts";
import { findBreach, findReportBreach, findTwoAtWork, findUnsettled } from "./invariants.ts";
import { gatedDatabase, type MemoryDatabase } from "./memory-database.ts";
import { OPERATOR, operate } from "./operate.ts";
import { Scheduler } from "./scheduler.ts";
import { between, pick, randomStream } from "./seeded-random.ts";
import { type HostWorld, SimulatedHost } from "./simulated-host.ts";

/** Parts put around the real ones, by a test that wants to see a mistake found. */
export interface Wraps {
  host?(host: DispatchHost): DispatchHost;
  /** Between the steps of dispatchers and the database. */
  execute?(execute: (query: Query) => Answer): (query: Query) => Answer;
  board?(board: DispatchBoard): DispatchBoard;
  /** Between the steps of supervisors and the database. */
  supervisorBoard?(board: DispatchBoard): DispatchBoard;
}

export interface HistoryResult {
  readonly seed: number;
  /** What was done, step by step; `runHistory` with these repeats it. */
  readonly actions: readonly string[];
  readonly transactions: number;
  /** What was wrong at the end of the actions; undefined when all was right. */
  readonly breach: string | undefined;
}

const SLUG = "simulated";
const STEPS = 120;
const HEALING_STEPS = 4_000;
const PROFILES = ["alpha", "beta"];
const never = new AbortController().signal;

/** One life of a board with several dispatchers, hosts and faults; stops at the first thing that must not be. */
export async function runHistory(
  memory: MemoryDatabase,
  {
    seed,
    actions,
    wraps = {},
  }: { readonly seed: number; readonly actions?: readonly string[]; readonly wraps?: Wraps },
): Promise<HistoryResult> {
  const history = new History(memory, seed, wraps);
  await history.begin();
  try {
    if (actions !== undefined) await history.replay(actions);
    else await history.improvise();
  } catch (error) {
    if (!(error instanceof Breach)) throw error;
    return history.result(error.message);
  }
  return history.result(undefined);
}

/** A failing history as text to paste into a test. */
export function describeHistory({ seed, actions, breach }: HistoryResult): string {
  return `${breach}\nrunHistory(memory, ${JSON.stringify({ seed, actions })})`;
}

class Breach extends Error {}

interface Dispatcher {
  readonly name: string;
  readonly host: SimulatedHost;
}

class History {
  readonly #memory: MemoryDatabase;
  readonly #seed: number;
  readonly #wraps: Wraps;
  readonly #scheduler = new Scheduler();
  readonly #choose: () => number;
  readonly #hosts: SimulatedHost[] = [];
  readonly #actions: string[] = [];
  readonly #dispatchers = new Map<string, Dispatcher>();
  readonly #policy: DispatchPolicy;
  readonly #world: HostWorld;
  readonly #isOneHost: boolean;
  #tasks = 0;
  #born = 0;
  #transactions = 0;
  #disturbances = 0;
  #isAway = false;
  /** Whether the rows may differ from when they were last looked at. */
  #hasChanged = true;
  #isSettled = false;
  #breach: string | undefined;

  constructor(memory: MemoryDatabase, seed: number, wraps: Wraps) {
    this.#memory = memory;
    this.#seed = seed;
    this.#wraps = wraps;
    this.#choose = randomStream(seed, "choose");
    const random = randomStream(seed, "world");
    const hostCount = between(random, 1, 3);
    this.#isOneHost = hostCount === 1;
    const settings = {
      max_spawn: pick(random, [1, 2, 3, 5, null]),
      max_in_progress: pick(random, [1, 2, 4, 8]),
      max_in_progress_per_profile: pick(random, [null, 1, 2, { alpha: 1 }]),
      failure_limit: between(random, 1, 3),
      failure_retry_seconds: 600,
      default_assignee: pick(random, ["", "alpha"]),
    };
    this.#policy = resolveDispatchPolicy(settings, { platform: "linux", totalMemoryBytes: 2 ** 36 });
    this.#world = {
      seed,
      scheduler: this.#scheduler,
      policy: this.#policy,
      profiles: PROFILES,
      boardFor: (actor) => this.#supervisorBoard(actor),
      healed: false,
    };
    for (let n = 1; n <= hostCount; n++) this.#hosts.push(new SimulatedHost(`h${n}`, this.#world));
  }

  async begin(): Promise<void> {
    this.#memory.reset(() => this.#scheduler.now);
    const random = randomStream(this.#seed, "tasks");
    const ids: string[] = [];
    const count = between(random, 2, 8);
    const board = this.#ungated();
    for (let n = 0; n < count; n++) {
      const parents = ids.length > 0 && random() < 0.3 ? [pick(random, ids)] : [];
      const details = {
        title: `task ${n}`,
        assignee: pick(random, ["alpha", "alpha", "beta", "stranger", null]),
        priority: between(random, 0, 2),
        parents,
        ...(random() < 0.5 && { maxRuntimeSeconds: between(random, 5, 30) }),
      };
      const { task } = await board.write(OPERATOR, (change) => createTask(change, details), never);
      ids.push(task.id);
    }
    this.#tasks = count;
    const dispatchers = between(random, 1, 3);
    for (let n = 0; n < dispatchers; n++) await this.#bear(pick(random, this.#hosts).id);
  }

  result(breach: string | undefined): HistoryResult {
    return { seed: this.#seed, actions: this.#actions, transactions: this.#transactions, breach };
  }

  async replay(actions: readonly string[]): Promise<void> {
    for (const action of actions) await this.#act(action);
  }

  async improvise(): Promise<void> {
    for (let step = 0; step < STEPS; step++) await this.#act(this.#nextAction());
    await this.#act("heal");
    for (let step = 0; step < HEALING_STEPS && !this.#isSettled; step++) await this.#act(this.#nextAction());
    await this.#act("end");
  }

  /** Usually someone's transaction; sometimes time passes, and sometimes something goes wrong. */
  #nextAction(): string {
    const { waiting, nextDue, now } = this.#scheduler;
    const actor = waiting.length === 0 ? undefined : pick(this.#choose, waiting);
    const luck = this.#choose();
    if (!this.#world.healed && luck < 0.12) return this.#nextFault(actor);
    if (actor !== undefined && luck < 0.85) return `go ${actor}`;
    const wait = actor === undefined ? 0 : between(this.#choose, 0, this.#world.healed ? 500 : 8_000);
    return `advance ${actor === undefined ? Math.max(0, (nextDue ?? now + 1_000) - now) : wait}`;
  }

  #nextFault(actor: string | undefined): string {
    const random = this.#choose;
    const host = pick(random, this.#hosts);
    const running = [...host.runs.values()].filter(({ supervisor }) => supervisor);
    const faults = [
      () => (actor === undefined ? undefined : `${pick(random, ["crash-before", "crash-after"])} ${actor}`),
      () => `bear ${host.id}`,
      () =>
        this.#dispatchers.size === 0 ? undefined : `duplicate ${pick(random, [...this.#dispatchers.keys()])}`,
      () => `skew ${host.id} ${between(random, -CLOCK_MARGIN_MS / 2, CLOCK_MARGIN_MS / 2)}`,
      () => (this.#isAway ? "database back" : "database away"),
      () => (running.length === 0 ? undefined : `kill ${host.id} ${pick(random, running).runId}`),
      () =>
        running.length === 0 || !this.#isOneHost
          ? undefined
          : `freeze ${host.id} ${pick(random, running).runId}`,
      () =>
        `${pick(random, ["pause", "resume", "hold", "let-go", "unblock", "unguard"])} ${between(random, 1, this.#tasks)}`,
      () => `advance ${between(random, 10_000, 60_000)}`,
    ];
    return pick(random, faults)() ?? "advance 1000";
  }

  async #act(action: string): Promise<void> {
    this.#actions.push(action);
    const [verb = "", who = "", what = ""] = action.split(" ");
    await this.#perform(verb, who, what);
    await nextTurn(); // everyone comes to their next transaction or sleep
    this.#check();
  }

  async #perform(verb: string, who: string, what: string): Promise<void> {
    const scheduler = this.#scheduler;
    const host = this.#hosts.find(({ id }) => id === who);
    const run = host?.runs.get(Number(what));
    switch (verb) {
      case "go":
        if (this.#isAway) scheduler.refuse(who);
        else scheduler.grant(who);
        return;
      case "crash-before":
        return this.#crash(who);
      case "crash-after":
        if (!this.#isAway) scheduler.grant(who, true);
        return this.#crash(who);
      case "advance":
        return this.#advance(Number(who));
      case "bear":
        return this.#bear(who);
      case "duplicate":
        return this.#duplicate(who);
      case "skew":
        if (host !== undefined) host.skewMs = Number(what);
        return this.#advance(0);
      case "database":
        this.#isAway = who === "away";
        return;
      case "kill":
        if (host !== undefined && run !== undefined) host.kill(run);
        return;
      case "freeze":
        if (run !== undefined) {
          run.frozen = true;
          scheduler.kill(run.actor);
        }
        return;
      case "heal":
        return this.#heal();
      case "end":
        return this.#end();
      default:
        return this.#operate(verb, Number(who));
    }
  }

  /** A second at a time, so that every supervisor's timer and every sleeper has its moment. */
  async #advance(ms: number): Promise<void> {
    const target = this.#scheduler.now + ms;
    do {
      this.#scheduler.advanceTo(Math.min(target, this.#scheduler.now + 1_000));
      for (const host of this.#hosts) host.enforceDeadlines(this.#scheduler.now);
    } while (this.#scheduler.now < target);
  }

  #crash(actor: string): void {
    this.#scheduler.kill(actor);
    this.#dispatchers.delete(actor);
    for (const host of this.#hosts)
      for (const run of host.runs.values()) if (run.actor === actor) host.kill(run); // a worker dies with its supervisor
  }

  async #bear(hostId: string): Promise<void> {
    const host = this.#hosts.find(({ id }) => id === hostId);
    if (host === undefined || this.#dispatchers.size >= 4) return;
    const name = `d${++this.#born}`;
    this.#dispatchers.set(name, { name, host });
    const loop = async (): Promise<void> => {
      const random = randomStream(this.#seed, name);
      const clock = this.#scheduler.clockOf(name);
      const { signal } = new AbortController(); // its own: one shared by all would collect their listeners
      while (this.#dispatchers.has(name)) {
        await this.#pass(name, name, host);
        await clock.sleep(between(random, 1_000, 15_000), signal);
      }
    };
    void loop().catch((error: unknown) => this.#fail(error));
  }

  /** Another pass of the same dispatcher while its own goes on. */
  async #duplicate(name: string): Promise<void> {
    const dispatcher = this.#dispatchers.get(name);
    if (dispatcher === undefined) return;
    void this.#pass(`${name}-${++this.#born}`, name, dispatcher.host).catch((error: unknown) =>
      this.#fail(error),
    );
  }

  async #pass(actor: string, owner: string, host: SimulatedHost): Promise<void> {
    const seen: { eligible?: Eligible; before: number } = { before: 0 };
    const board = this.#dispatcherBoard(actor, (eligible) => {
      seen.eligible = eligible;
      seen.before = this.#disturbances;
    });
    const parts: TickParts = {
      board,
      host: this.#wraps.host?.(host) ?? host,
      policy: this.#policy,
      owner,
      isDead: async (other) => !this.#dispatchers.has(other),
      clock: this.#scheduler.clockOf(actor),
      random: randomStream(this.#seed, actor),
    };
    try {
      const report = await dispatchTick(parts, never);
      const { eligible, before } = seen;
      if (eligible === undefined) return;
      const others = this.#disturbances - before - report.spawned.length - report.spawn_failed.length;
      this.#breach ??= findReportBreach(report, eligible, host.id, this.#policy, others === 0);
    } catch (error) {
      if (error instanceof AppError && error.code === "database-unavailable") return;
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#breach ??= `a dispatcher failed: ${error instanceof Error ? error.stack : String(error)}`;
  }

  #turn(actor: string): <Result>(kind: "read" | "write", work: () => Result) => Promise<Result> {
    return (kind, work) =>
      this.#scheduler.transaction(actor, () => {
        this.#transactions++;
        if (kind === "write") this.#hasChanged = true;
        return work();
      });
  }

  #dispatcherBoard(actor: string, onList: (eligible: Eligible) => void): DispatchBoard {
    const through = (execute: (query: Query) => Answer) =>
      this.#watched(this.#wraps.execute?.(execute) ?? execute);
    const board = wrapDatabase(SLUG, gatedDatabase(this.#memory, this.#turn(actor), through));
    const listed: DispatchBoard = {
      ...board,
      // Seen in the same turn as it was read, before anyone else can change it.
      read: (steps, signal) =>
        board.read(function* () {
          const result = yield* steps();
          if (isEligible(result)) onList(result);
          return result;
        }, signal),
    };
    return this.#wraps.board?.(listed) ?? listed;
  }

  /** Sees claims, and bookkeeping of a dispatcher whose lease another one has. */
  #watched(execute: (query: Query) => Answer): (query: Query) => Answer {
    return (query) => {
      const answer = execute(query);
      if (query.sql.includes("insert into dispatch_share")) this.#disturbances++;
      if (!query.sql.includes("update dispatch_lease") || answer.changes !== 1) return answer;
      const [lease] = this.#memory.all<{ token: number }>("select token from dispatch_lease");
      if (lease?.token !== query.values["token"]) this.#breach ??= "one that lost the lease did bookkeeping";
      return answer;
    };
  }

  #supervisorBoard(actor: string): DispatchBoard {
    const board = wrapDatabase(SLUG, gatedDatabase(this.#memory, this.#turn(actor)));
    return this.#wraps.supervisorBoard?.(board) ?? board;
  }

  #ungated(): DispatchBoard {
    return wrapDatabase(
      SLUG,
      gatedDatabase(this.#memory, async (_, work) => work()),
    );
  }

  async #operate(verb: string, nth: number): Promise<void> {
    this.#hasChanged = true;
    if (verb === "pause" || verb === "resume") this.#disturbances++;
    await operate(this.#ungated(), this.#memory, verb, nth);
  }

  async #heal(): Promise<void> {
    this.#world.healed = true;
    this.#isAway = false;
    await this.#operate("resume", 1);
    for (let nth = 1; nth <= this.#tasks; nth++) await this.#operate("let-go", nth);
    for (const host of this.#hosts) {
      host.skewMs = 0;
      await this.#bear(host.id);
    }
  }

  #check(): void {
    this.#breach ??= findTwoAtWork(this.#hosts);
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
    if (first !== undefined) this.#breach ??= `after the healing ${first}`;
  }
}

function isEligible(value: unknown): value is Eligible {
  return typeof value === "object" && value !== null && "limitedProfiles" in value;
}
