import type { Query, QueryResult } from "../../src/board/database/steps.ts";
import { createDispatchBoard, type DispatchBoard } from "../../src/board/dispatcher/dispatch-board.ts";
import type { DispatchHost } from "../../src/board/dispatcher/dispatch-host.ts";
import type { PassParts } from "../../src/board/dispatcher/pass-parts.ts";
import type { DispatchPolicy } from "../../src/board/dispatcher/rules/resolve-dispatch-policy.ts";
import { runPass } from "../../src/board/dispatcher/run-pass.ts";
import type { EligibleTasks } from "../../src/board/dispatcher/transactions/list-eligible.ts";
import { AppError } from "../../src/lib/errors.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { MOST_DISPATCHERS } from "./faults.ts";
import { findReportBreach } from "./invariants.ts";
import { type ExecuteWrapper, gatedDatabase, type MemoryDatabase } from "./memory-database.ts";
import type { Scheduler } from "./scheduler.ts";
import { randomBetween, randomStream } from "./seeded-random.ts";
import type { SimulatedHost } from "./simulated-host.ts";

/** Wrappers around the real parts, by which a test introduces a bug that histories must find. */
export interface Wraps {
  host?(host: DispatchHost): DispatchHost;
  /** Between the steps of dispatchers and the database. */
  readonly execute?: ExecuteWrapper;
  board?(board: DispatchBoard): DispatchBoard;
  /** Between the steps of supervisors and the database. */
  supervisorBoard?(board: DispatchBoard): DispatchBoard;
  /** Removes the second safeguard, which would hide most bugs in the first: see `HostWorld`. */
  readonly keepsEarlier?: boolean;
}

export interface DispatchersWorld {
  readonly seed: number;
  readonly memory: MemoryDatabase;
  readonly scheduler: Scheduler;
  readonly policy: DispatchPolicy;
  readonly wraps: Wraps;
  turn(actor: string): <Result>(kind: "read" | "write", work: () => Result) => Promise<Result>;
  onBreach(breach: string): void;
}

export const SLUG = "simulated";

/** The dispatchers of a history: keeps track of the live ones, runs their passes and checks the report of each pass. */
export class SimulatedDispatchers {
  readonly #world: DispatchersWorld;
  readonly #alive = new Map<string, SimulatedHost>();
  #started = 0;
  /** Counts claims and pauses of the board, after which the room that a pass has read is outdated. */
  #disturbances = 0;

  constructor(world: DispatchersWorld) {
    this.#world = world;
  }

  get names(): readonly string[] {
    return [...this.#alive.keys()];
  }

  disturb(): void {
    this.#disturbances++;
  }

  remove(name: string): void {
    this.#alive.delete(name);
  }

  start(host: SimulatedHost): void {
    if (this.#alive.size >= MOST_DISPATCHERS) return;
    const name = `d${++this.#started}`;
    this.#alive.set(name, host);
    const loop = async (): Promise<void> => {
      const random = randomStream(this.#world.seed, name);
      const clock = this.#world.scheduler.clockOf(name);
      const { signal } = new AbortController(); // not shared, because a shared signal would collect the listeners of all
      while (this.#alive.has(name)) {
        await this.#pass(name, name, host);
        await clock.sleep(randomBetween(random, 1_000, 15_000), signal);
      }
    };
    void loop().catch((error: unknown) => this.#fail(error));
  }

  /** Starts a concurrent second pass of the same dispatcher; false when the dispatcher is no longer alive. */
  duplicate(name: string): boolean {
    const host = this.#alive.get(name);
    if (host === undefined) return false;
    void this.#pass(`${name}-${++this.#started}`, name, host).catch((error: unknown) => this.#fail(error));
    return true;
  }

  async #pass(actor: string, owner: string, host: SimulatedHost): Promise<void> {
    const { policy, scheduler, seed, wraps, onBreach } = this.#world;
    const seen: { eligible?: EligibleTasks; before: number } = { before: 0 };
    const board = this.#board(actor, (eligible) => {
      seen.eligible = eligible;
      seen.before = this.#disturbances;
    });
    const parts: PassParts = {
      board,
      host: wraps.host?.(host) ?? host,
      policy,
      owner,
      isDead: async (other) => !this.#alive.has(other),
      clock: scheduler.clockOf(actor),
      random: randomStream(seed, actor),
    };
    try {
      const report = await runPass(parts, neverAborted);
      const { eligible, before } = seen;
      if (eligible === undefined) return;
      const others = this.#disturbances - before - report.spawned.length - report.spawn_failed.length;
      const breach = findReportBreach(report, eligible, host.id, policy, others === 0);
      if (breach !== undefined) onBreach(breach);
    } catch (error) {
      if (error instanceof AppError && error.code === "database-unavailable") return;
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#world.onBreach(`a dispatcher failed: ${error instanceof Error ? error.stack : String(error)}`);
  }

  #board(actor: string, onList: (eligible: EligibleTasks) => void): DispatchBoard {
    const { memory, turn, wraps } = this.#world;
    const through: ExecuteWrapper = (execute) => this.#observed(wraps.execute?.(execute) ?? execute);
    const board = createDispatchBoard(SLUG, gatedDatabase(memory, turn(actor), through));
    const listed: DispatchBoard = {
      ...board,
      // Recorded in the transaction of the read, before another actor can change the rows.
      read: (steps, signal) =>
        board.read(function* () {
          const result = yield* steps();
          if (isEligible(result)) onList(result);
          return result;
        }, signal),
    };
    return wraps.board?.(listed) ?? listed;
  }

  /** Detects claims, and bookkeeping by a dispatcher that has lost its lease. */
  #observed(execute: (query: Query) => QueryResult): (query: Query) => QueryResult {
    return (query) => {
      const answer = execute(query);
      if (query.sql.includes("insert into dispatch_share")) this.disturb();
      if (!query.sql.includes("update dispatch_lease") || answer.changes !== 1) return answer;
      const [lease] = this.#world.memory.all<{ token: number }>("select token from dispatch_lease");
      if (lease?.token !== query.values["token"])
        this.#world.onBreach("a dispatcher that lost the lease did bookkeeping");
      return answer;
    };
  }
}

function isEligible(value: unknown): value is EligibleTasks {
  return typeof value === "object" && value !== null && "limitedRoutes" in value;
}
