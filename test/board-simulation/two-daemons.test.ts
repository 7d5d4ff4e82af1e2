import { describe, expect, it } from "vitest";
import { all } from "../../src/board/database/steps.ts";
import { createDispatchBoard, type DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import { runDispatcher } from "../../src/board/dispatcher/run-dispatcher.ts";
import { findLeaseHolder, LEASE_MS } from "../../src/board/dispatcher/transactions/board-lease.ts";
import type { DispatcherRow } from "../../src/board/dispatcher/transactions/dispatcher-rows.ts";
import { createTask } from "../../src/board/operations/tasks/create-task.ts";
import { watchBoard } from "../../src/board/watch-board.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { dispatchPolicy } from "../support/dispatch-policy.ts";
import { findBreach, findUnsettled, findWorkerBreach } from "./invariants.ts";
import { gatedDatabase, type MemoryDatabase, openMemoryDatabase } from "./memory-database.ts";
import { OPERATOR } from "./operator-actions.ts";
import { Scheduler, waitForActors } from "./scheduler.ts";
import { pick, randomBetween, randomStream } from "./seeded-random.ts";
import { SLUG } from "./simulated-dispatchers.ts";
import { advanceTime, type HostWorld, SimulatedHost } from "./simulated-host.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const INTERVAL_SECONDS = 5;
/** A dead daemon on another host keeps its lease until it expires; the next pass of the other daemon takes it. */
const HANDOVER_MS = LEASE_MS + 2 * INTERVAL_SECONDS * 1_000;
const PROFILES = ["alpha", "beta"];

describe("two daemons on one board", () => {
  it.each([
    ["one host", 1],
    ["two hosts", 2],
  ])(
    "G1, G35: during an hour with kills on %s, no task is completed twice, and the status names the dispatcher that does the bookkeeping",
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

/** Runs two real daemon loops over one board in virtual time, and checks all invariants after each transaction. */
class Hour {
  kills = 0;
  /** The dispatchers that the board has named as holders of its lease. */
  readonly leaders = new Set<string>();
  readonly failures: string[] = [];
  readonly #memory: MemoryDatabase;
  readonly #scheduler = new Scheduler();
  readonly #random = randomStream(1, "hour");
  readonly #hosts: readonly SimulatedHost[];
  readonly #world: HostWorld;
  readonly #policy = dispatchPolicy({
    dispatch_interval_seconds: INTERVAL_SECONDS,
    max_in_progress: 3,
    failure_limit: 3,
  });
  readonly #alive = new Map<string, SimulatedHost>();
  readonly #diedAt = new Map<string, number>();
  #started = 0;
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
    for (let n = 0; n < 2; n++) this.#startDaemon();
    while (scheduler.now < end) {
      await this.#step();
      if (scheduler.now < nextMinute) continue;
      nextMinute += MINUTE;
      await this.#checkStatus();
      await this.#disturb();
    }
    this.#world.healed = true;
    const settled = scheduler.now + HOUR;
    while (this.#unsettled().length > 0 && scheduler.now < settled) await this.#step();
    expect(this.#unsettled()).toEqual([]);
  }

  /** Grants a waiting transaction, or advances the time until the next sleep ends. */
  async #step(): Promise<void> {
    const { waiting, nextDue, now } = this.#scheduler;
    if (waiting.length > 0) this.#scheduler.grant(pick(this.#random, waiting));
    else advanceTime(this.#scheduler, this.#hosts, Math.max(0, (nextDue ?? now + 1_000) - now));
    await waitForActors();
    const rows = this.#hasChanged ? findBreach(this.#memory, this.#policy, this.#tasks) : undefined;
    this.#hasChanged = false;
    const breach = findWorkerBreach(this.#hosts) ?? rows;
    if (breach !== undefined) expect.fail(breach);
  }

  /** Creates tasks, and kills workers and daemons at random, anywhere between two transactions. */
  async #disturb(): Promise<void> {
    for (let n = randomBetween(this.#random, 1, 3); n > 0; n--) {
      this.#tasks++;
      const assignee = pick(this.#random, PROFILES);
      const details = { title: "work", assignee, ...(this.#random() < 0.5 && { maxRuntimeSeconds: 20 }) };
      const board = createDispatchBoard(
        SLUG,
        gatedDatabase(this.#memory, async (_, work) => work()),
      );
      await board.write(OPERATOR, (transaction) => createTask(transaction, details), neverAborted);
    }
    for (let n = randomBetween(this.#random, 0, 40); n > 0; n--) await this.#step();
    const runs = this.#hosts.flatMap((host) => [...host.runs.values()].map((run) => ({ host, run })));
    const withWorker = runs.filter(({ run }) => run.worker);
    if (this.#random() < 0.3 && withWorker.length > 0) {
      const { host, run } = pick(this.#random, withWorker);
      host.kill(run);
    }
    if (this.#random() < 0.5) this.#kill(pick(this.#random, [...this.#alive.keys()]));
    while (this.#alive.size < 2) this.#startDaemon();
  }

  #kill(name: string): void {
    this.kills++;
    this.#alive.delete(name);
    this.#diedAt.set(name, this.#scheduler.now);
    this.#scheduler.kill(name);
  }

  #startDaemon(): void {
    const name = `d${++this.#started}`;
    // One daemon per host if there are two hosts.
    const host =
      this.#hosts.find((candidate) => ![...this.#alive.values()].includes(candidate)) ?? this.#hosts[0];
    if (host === undefined) throw new Error("no host");
    this.#alive.set(name, host);
    const clock = this.#scheduler.clockOf(name);
    void runDispatcher(
      {
        owner: name,
        // Only the death of a process of the same host is provable.
        isDead: async (other) => this.#hosts.length === 1 && !this.#alive.has(other),
        clock,
        random: randomStream(1, name),
        listBoards: async () => [SLUG],
        openBoard: async () => {
          const board = this.#board(name);
          const location = { root: "", databaseUrl: "a server that announces nothing", slug: SLUG };
          const watch = watchBoard(location, board, clock);
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

  /** Checks what `dispatch-status` reads: a valid lease whose holder is alive or died recently. */
  async #checkStatus(): Promise<void> {
    const { now } = this.#scheduler;
    const holder = this.#memory.read(findLeaseHolder);
    const rows = this.#memory.read(() => all<DispatcherRow>("select * from dispatcher"));
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
    return createDispatchBoard(SLUG, gatedDatabase(this.#memory, turn));
  }

  #unsettled(): readonly string[] {
    return findUnsettled(this.#memory, this.#policy, PROFILES);
  }
}
