import { AppError } from "../../lib/errors.ts";
import type { Answer, Query } from "../database/steps.ts";
import { type DispatchBoard, wrapDatabase } from "../dispatcher/dispatch-board.ts";
import { dispatchTick } from "../dispatcher/dispatch-tick.ts";
import type { DispatchHost } from "../dispatcher/host.ts";
import type { Eligible } from "../dispatcher/operations/list-eligible.ts";
import type { DispatchPolicy } from "../dispatcher/resolve-dispatch-policy.ts";
import type { TickParts } from "../dispatcher/tick-parts.ts";
import { MOST_DISPATCHERS } from "./faults.ts";
import { findReportBreach } from "./invariants.ts";
import { gatedDatabase, type MemoryDatabase, type Through } from "./memory-database.ts";
import type { Scheduler } from "./scheduler.ts";
import { between, randomStream } from "./seeded-random.ts";
import type { SimulatedHost } from "./simulated-host.ts";

/** Parts put around the real ones, by a test that wants to see a mistake found. */
export interface Wraps {
  host?(host: DispatchHost): DispatchHost;
  /** Between the steps of dispatchers and the database. */
  readonly execute?: Through;
  board?(board: DispatchBoard): DispatchBoard;
  /** Between the steps of supervisors and the database. */
  supervisorBoard?(board: DispatchBoard): DispatchBoard;
  /** Takes the second line of defence away, which would hide most of a mistake in the first: see `HostWorld`. */
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
const never = new AbortController().signal;

/** The dispatchers of a history: who lives, the passes they make, and whether each pass was right. */
export class SimulatedDispatchers {
  readonly #world: DispatchersWorld;
  readonly #alive = new Map<string, SimulatedHost>();
  #born = 0;
  /** Claims, and pauses of the board: whatever makes room that was seen no longer true. */
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

  bury(name: string): void {
    this.#alive.delete(name);
  }

  bear(host: SimulatedHost): void {
    if (this.#alive.size >= MOST_DISPATCHERS) return;
    const name = `d${++this.#born}`;
    this.#alive.set(name, host);
    const loop = async (): Promise<void> => {
      const random = randomStream(this.#world.seed, name);
      const clock = this.#world.scheduler.clockOf(name);
      const { signal } = new AbortController(); // its own: one shared by all would collect their listeners
      while (this.#alive.has(name)) {
        await this.#pass(name, name, host);
        await clock.sleep(between(random, 1_000, 15_000), signal);
      }
    };
    void loop().catch((error: unknown) => this.#fail(error));
  }

  /** Another pass of the same dispatcher while its own goes on; false when it is no longer alive. */
  duplicate(name: string): boolean {
    const host = this.#alive.get(name);
    if (host === undefined) return false;
    void this.#pass(`${name}-${++this.#born}`, name, host).catch((error: unknown) => this.#fail(error));
    return true;
  }

  async #pass(actor: string, owner: string, host: SimulatedHost): Promise<void> {
    const { policy, scheduler, seed, wraps, onBreach } = this.#world;
    const seen: { eligible?: Eligible; before: number } = { before: 0 };
    const board = this.#board(actor, (eligible) => {
      seen.eligible = eligible;
      seen.before = this.#disturbances;
    });
    const parts: TickParts = {
      board,
      host: wraps.host?.(host) ?? host,
      policy,
      owner,
      isDead: async (other) => !this.#alive.has(other),
      clock: scheduler.clockOf(actor),
      random: randomStream(seed, actor),
    };
    try {
      const report = await dispatchTick(parts, never);
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

  #board(actor: string, onList: (eligible: Eligible) => void): DispatchBoard {
    const { memory, turn, wraps } = this.#world;
    const through: Through = (execute) => this.#watched(wraps.execute?.(execute) ?? execute);
    const board = wrapDatabase(SLUG, gatedDatabase(memory, turn(actor), through));
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
    return wraps.board?.(listed) ?? listed;
  }

  /** Sees claims, and bookkeeping of a dispatcher whose lease another one has. */
  #watched(execute: (query: Query) => Answer): (query: Query) => Answer {
    return (query) => {
      const answer = execute(query);
      if (query.sql.includes("insert into dispatch_share")) this.disturb();
      if (!query.sql.includes("update dispatch_lease") || answer.changes !== 1) return answer;
      const [lease] = this.#world.memory.all<{ token: number }>("select token from dispatch_lease");
      if (lease?.token !== query.values["token"])
        this.#world.onBreach("one that lost the lease did bookkeeping");
      return answer;
    };
  }
}

function isEligible(value: unknown): value is Eligible {
  return typeof value === "object" && value !== null && "limitedRoutes" in value;
}
