import type { EligibleTasks } from "../../src/board/dispatcher/transactions/list-eligible.ts";
import { AppError } from "../../src/lib/errors.ts";
import type { Wraps } from "./simulated-dispatchers.ts";

interface SeededBug {
  readonly wraps: Wraps;
  /** Matches the breach that a history with this bug must report. */
  readonly expectedBreach: RegExp;
}

/** Plausible bugs, each introduced by a wrapper around the correct parts. */
export const SEEDED_BUGS = {
  "the lease of the board is not checked": {
    wraps: {
      execute: (execute) => (query) => {
        const isFence = query.sql.includes("update dispatch_lease") && query.sql.includes("expires_at >");
        return isFence ? { rows: [], changes: 1 } : execute(query);
      },
    },
    expectedBreach: /lost the lease/,
  },
  "a supervisor ignores that its run has ended": {
    wraps: {
      keepsEarlier: true,
      supervisorBoard: (board) => ({
        ...board,
        write: (caller, steps, signal) =>
          board.write(caller, steps, signal).catch((error: unknown) => {
            if (error instanceof AppError && error.code === "run-superseded") return true as never;
            throw error;
          }),
      }),
    },
    expectedBreach: /two workers/,
  },
  "running tasks are subtracted twice": {
    wraps: {
      board: (board) => ({
        ...board,
        async read(steps, signal) {
          const result = await board.read(steps, signal);
          const eligible = result as Partial<EligibleTasks> | undefined;
          if (typeof eligible !== "object" || !(eligible.running instanceof Map)) return result;
          const running = new Map([...eligible.running].map(([name, value]) => [name, 2 * Number(value)]));
          return { ...result, running };
        },
      }),
    },
    expectedBreach: /slots empty/,
  },
  "a task is released before its processes have exited": {
    wraps: {
      keepsEarlier: true,
      host: (host) => ({
        id: host.id,
        runnable: host.runnable.bind(host),
        routeOf: host.routeOf.bind(host),
        findBranchUser: host.findBranchUser.bind(host),
        start: host.start.bind(host),
        isAlive: host.isAlive.bind(host),
        terminate: async () => "gone",
        memoryPressure: host.memoryPressure.bind(host),
        runningElsewhere: host.runningElsewhere.bind(host),
        reserveSlot: host.reserveSlot.bind(host),
      }),
    },
    expectedBreach: /two workers|workers alive/,
  },
} as const satisfies Record<string, SeededBug>;
export type SeededBugName = keyof typeof SEEDED_BUGS;
