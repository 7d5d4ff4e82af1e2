import { afterAll, describe, expect, it } from "vitest";
import { AppError } from "../../lib/errors.ts";
import type { Eligible } from "../dispatcher/operations/list-eligible.ts";
import { openMemoryDatabase } from "./memory-database.ts";
import { describeHistory, type HistoryResult, runHistory, type Wraps } from "./run-history.ts";

/** All of them take about two minutes on a quiet machine; each is told apart by its seed. */
const HISTORIES = Number(process.env["HERMES_TEST_HISTORIES"] ?? 1_000);
const BUG_HISTORIES = 2_000;
const MINUTES = 60_000;

describe("many dispatchers, hosts and faults in virtual time", async () => {
  const memory = await openMemoryDatabase();
  afterAll(() => memory[Symbol.dispose]());

  async function findFailure(histories: number, wraps: Wraps = {}): Promise<HistoryResult | undefined> {
    for (let seed = 1; seed <= histories; seed++) {
      const result = await runHistory(memory, { seed, wraps });
      if (result.breach !== undefined) return result;
    }
    return undefined;
  }

  it(
    "no history has two workers at a task, a cap exceeded, a task lost, or one left without a reason after the healing",
    async () => {
      const failure = await findFailure(HISTORIES);
      expect(failure === undefined ? "sound" : describeHistory(failure)).toBe("sound");
    },
    20 * MINUTES,
  );

  it("a history repeats itself from its seed and from its actions", async () => {
    const first = await runHistory(memory, { seed: 7 });
    const again = await runHistory(memory, { seed: 7 });
    const replayed = await runHistory(memory, { seed: 7, actions: first.actions });
    expect(again).toEqual(first);
    expect(replayed).toEqual(first);
    expect(first.transactions).toBeGreaterThan(50);
  });

  /** Each a mistake that someone could make, put around the parts that do not have it. */
  const BUGS: Readonly<Record<string, { readonly wraps: Wraps; readonly found: RegExp }>> = {
    "the lease of the board is not checked": {
      wraps: {
        execute: (execute) => (query) => {
          const isFence = query.sql.includes("update dispatch_lease") && query.sql.includes("expires_at >");
          return isFence ? { rows: [], changes: 1 } : execute(query);
        },
      },
      found: /lost the lease/,
    },
    "a supervisor does not mind that its run is over": {
      wraps: {
        supervisorBoard: (board) => ({
          ...board,
          write: (caller, steps, signal) =>
            board.write(caller, steps, signal).catch((error: unknown) => {
              if (error instanceof AppError && error.code === "run-superseded") return true as never;
              throw error;
            }),
        }),
      },
      found: /two workers/,
    },
    "running tasks are subtracted twice": {
      wraps: {
        board: (board) => ({
          ...board,
          async read(steps, signal) {
            const result = await board.read(steps, signal);
            const eligible = result as Partial<Eligible> | undefined;
            if (typeof eligible !== "object" || !(eligible.running instanceof Map)) return result;
            const running = new Map([...eligible.running].map(([name, value]) => [name, 2 * Number(value)]));
            return { ...result, running };
          },
        }),
      },
      found: /slots empty/,
    },
    "a task is released before the end of its processes is seen": {
      wraps: {
        host: (host) => ({
          id: host.id,
          runnable: host.runnable.bind(host),
          start: host.start.bind(host),
          isAlive: host.isAlive.bind(host),
          terminate: async () => "gone",
          memoryPressure: host.memoryPressure.bind(host),
          runningElsewhere: host.runningElsewhere.bind(host),
        }),
      },
      found: /two workers/,
    },
  };

  for (const [mistake, { wraps, found }] of Object.entries(BUGS)) {
    it(
      `finds out when ${mistake}`,
      async () => {
        const failure = await findFailure(BUG_HISTORIES, wraps);
        expect(failure?.breach).toMatch(found);
        if (failure === undefined) return;
        const replayed = await runHistory(memory, { seed: failure.seed, actions: failure.actions, wraps });
        expect(replayed.breach).toBe(failure.breach);
      },
      5 * MINUTES,
    );
  }
});
