import { describe, expect, it } from "vitest";
import { all } from "../database/steps.ts";
import { type DispatchBoard, wrapDatabase } from "../dispatcher/dispatch-board.ts";
import { type DispatcherRow, findHolder, LEASE_MS } from "../dispatcher/operations/board-lease.ts";
import { resolveDispatchPolicy } from "../dispatcher/resolve-dispatch-policy.ts";
import { runDispatcher } from "../dispatcher/run-dispatcher.ts";
import { watchBoard } from "../dispatcher/watch-board.ts";
import { createTask } from "../operations/create-task.ts";
import { findBreach, findTwoAtWork, findUnsettled } from "./invariants.ts";
import { gatedDatabase, type MemoryDatabase, openMemoryDatabase } from "./memory-database.ts";
import { OPERATOR } from "./operate.ts";
import { everyoneRests, Scheduler } from "./scheduler.ts";
import { between, pick, randomStream } from "./seeded-random.ts";
import { SLUG } from "./simulated-dispatchers.ts";
import { type HostWorld, passTime, SimulatedHost } from "./simulated-host.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const INTERVAL_SECONDS = 5;
/** A dead daemon on another host keeps its lease to the end; then the next pass takes it. */
const HANDOVER_MS = LEASE_MS + 2 * INTERVAL_SECONDS * 1_000;
const PROFILES = ["alpha", "beta"];
const never = new AbortController().signal;

describe("two daemons on one board", () => {
  it.each([
    ["one host", 1],
    ["two hosts", 2],
  ])(
    "G1, G35: for an hour with kills, on %s: no task is run twice, and the status names who does the bookkeeping",
    async (_, hosts) => {
      using memory = await openMemoryDatabase();
      const hour = new Hour(memory, hosts);
      await hour.run();
      expect(hour.kills).toBeGreaterThan(15);
      expect(hour.leaders.size).toBeGreaterThan(5);
      expect(hour.failures).toEqual([]);
      const doubled = memory.all(
        "select task_id from run where outcome = 'completed' group by 1 having count(*) > 1",
      );
      expect(doubled).toEqual([]);
      const [done] = memory.all<{ tasks: number }>(
        "select count(*) as tasks from task where status = 'done'",
      );
      expect(done?.tasks).toBeGreaterThan(60);
    },
    600_000,
  );
});

/** The real loop of the daemon, twice, over one board in virtual time; everything is checked after each transaction. */
class Hour {
  kills = 0;
  /** Whom the board named as doing its bookkeeping. */
  readonly leaders = new Set<string>();
  readonly failures: string[] = [];
  readonly #memory: MemoryDatabase;
  readonly #scheduler = new Scheduler();
  readonly #random = randomStream(1, "hour");
  readonly #hosts: readonly SimulatedHost[];
  readonly #world: HostWorld;
  readonly #policy = resolveDispatchPolicy(
    { dispatch_interval_seconds: INTERVAL_SECONDS, max_in_progress: 3, failure_limit: 3 },
    { platform: "linux", totalMemoryBytes: 2 ** 36 },
  );
  readonly #alive = new Map<string, SimulatedHost>();
  readonly #diedAt = new Map<string, number>();
  #born = 0;
  #tasks = 0;
  #hasChanged = true;

  constructor(memory: MemoryDatabase, hostCount: number) {
    this.#memory = memory;
    this.#world = {
      seed: 1,
      scheduler: this.#scheduler,
      policy: this.#policy,
      profiles: PROFILES,
      boardFor: (actor) => this.#board(actor),
      isOneHost: hostCount === 1,
      keepsEarlier: false,
      healed: false,
    };
    this.#hosts = ["h1", "h2"].slice(0, hostCount).map((id) => new SimulatedHost(id, this.#world));
  }

  async run(): Promise<void> {
    const scheduler = this.#scheduler;
    this.#memory.reset(() => scheduler.now);
    const end = scheduler.now + HOUR;
    let nextMinute = scheduler.now + MINUTE;
    for (let n = 0; n < 2; n++) this.#bear();
    while (scheduler.now < end) {
      await this.#step();
      if (scheduler.now < nextMinute) continue;
      nextMinute += MINUTE;
      await this.#checkStatus();
      await this.#happen();
    }
    this.#world.healed = true;
    const settled = scheduler.now + HOUR;
    while (this.#unsettled().length > 0 && scheduler.now < settled) await this.#step();
    expect(this.#unsettled()).toEqual([]);
  }

  /** Someone's transaction if anyone wants one, else the time until someone does. */
  async #step(): Promise<void> {
    const { waiting, nextDue, now } = this.#scheduler;
    if (waiting.length > 0) this.#scheduler.grant(pick(this.#random, waiting));
    else passTime(this.#scheduler, this.#hosts, Math.max(0, (nextDue ?? now + 1_000) - now));
    await everyoneRests();
    const rows = this.#hasChanged ? findBreach(this.#memory, this.#policy, this.#tasks) : undefined;
    this.#hasChanged = false;
    const breach = findTwoAtWork(this.#hosts) ?? rows;
    if (breach !== undefined) expect.fail(breach);
  }

  /** New work each minute; a kill in every second one, anywhere between two transactions. */
  async #happen(): Promise<void> {
    for (let n = between(this.#random, 1, 3); n > 0; n--) {
      this.#tasks++;
      const assignee = pick(this.#random, PROFILES);
      const details = { title: "work", assignee, ...(this.#random() < 0.5 && { maxRuntimeSeconds: 20 }) };
      const board = wrapDatabase(
        SLUG,
        gatedDatabase(this.#memory, async (_, work) => work()),
      );
      await board.write(OPERATOR, (change) => createTask(change, details), never);
    }
    for (let n = between(this.#random, 0, 40); n > 0; n--) await this.#step();
    const runs = this.#hosts.flatMap((host) => [...host.runs.values()].map((run) => ({ host, run })));
    const living = runs.filter(({ run }) => run.worker);
    if (this.#random() < 0.3 && living.length > 0) {
      const { host, run } = pick(this.#random, living);
      host.kill(run);
    }
    if (this.#random() < 0.5) this.#kill(pick(this.#random, [...this.#alive.keys()]));
    while (this.#alive.size < 2) this.#bear();
  }

  #kill(name: string): void {
    this.kills++;
    this.#alive.delete(name);
    this.#diedAt.set(name, this.#scheduler.now);
    this.#scheduler.kill(name);
  }

  #bear(): void {
    const name = `d${++this.#born}`;
    // One on each host, if there are two.
    const host =
      this.#hosts.find((candidate) => ![...this.#alive.values()].includes(candidate)) ?? this.#hosts[0];
    if (host === undefined) throw new Error("no host");
    this.#alive.set(name, host);
    const clock = this.#scheduler.clockOf(name);
    void runDispatcher(
      {
        owner: name,
        // Only a process of the same host can be seen to be dead.
        isDead: async (other) => this.#hosts.length === 1 && !this.#alive.has(other),
        clock,
        random: randomStream(1, name),
        listBoards: async () => [SLUG],
        openBoard: async () => {
          const board = this.#board(name);
          const place = { root: "", databaseUrl: "a server that announces nothing", slug: SLUG };
          const watch = watchBoard(place, board, clock);
          return { board, host, watch, [Symbol.asyncDispose]: async () => watch[Symbol.dispose]() };
        },
        loadPolicy: async () => this.#policy,
        onPass: () => undefined,
        onIdle: () => undefined,
        onFailure: (_, error) => void this.failures.push(String(error)),
      },
      new AbortController().signal,
    ).catch((error: unknown) => void this.failures.push(String(error)));
  }

  /** What `dispatch-status` reads, at any moment: a live lease, of one that is alive or died a moment ago. */
  async #checkStatus(): Promise<void> {
    const { now } = this.#scheduler;
    const holder = this.#memory.look(findHolder);
    const rows = this.#memory.look(() => all<DispatcherRow>("select * from dispatcher"));
    const diedAt = this.#diedAt.get(holder?.owner ?? "");
    expect(holder?.expires_at).toBeGreaterThan(now - (diedAt === undefined ? 0 : HANDOVER_MS));
    expect(this.#alive.has(holder?.owner ?? "") || now - (diedAt ?? 0) <= HANDOVER_MS).toBe(true);
    const row = rows.find(({ owner }) => owner === holder?.owner);
    expect(now - (row?.last_tick_at ?? 0)).toBeLessThanOrEqual(HANDOVER_MS);
    this.leaders.add(holder?.owner ?? "");
  }

  #board(actor: string): DispatchBoard {
    const turn = <Result>(kind: string, work: () => Result) =>
      this.#scheduler.transaction(actor, () => {
        this.#hasChanged ||= kind === "write";
        return work();
      });
    return wrapDatabase(SLUG, gatedDatabase(this.#memory, turn));
  }

  #unsettled(): readonly string[] {
    return findUnsettled(this.#memory, this.#policy, PROFILES);
  }
}
