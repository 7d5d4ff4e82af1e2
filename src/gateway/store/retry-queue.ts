import { AppError } from "../../lib/errors.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { isHealedByTime } from "../../lib/sqlite/database-error.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** Repeats what failed because the disk was full, a device failed or another process held a file, until it succeeds. */
export interface RetryQueue {
  /** Runs `action`; while something waits, the others wait behind it, in their order. `action` must be repeatable. */
  run<Result>(action: (signal: AbortSignal) => Promise<Result>, signal: AbortSignal): Promise<Result>;
  /** Rejects what waits and lets later failures pass at once: the process is about to end. */
  giveUp(): void;
}

export interface RetryQueueParts {
  readonly clock: Clock;
  /** Called when something begins to wait. */
  onWait(error: unknown): void;
  /** Called when nothing waits any more. */
  onResume(waitedMs: number): void;
}

const RETRY_EVERY_MS = 2_000;

export function createRetryQueue({ clock, onWait, onResume }: RetryQueueParts): RetryQueue {
  const end = new AbortController();
  let waiting = 0;
  let waitingSince = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function waitInLine<Result>(
    action: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const before = last;
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    last = Promise.all([before, left]); // one that leaves early does not let the next one overtake those before it
    const within = AbortSignal.any([signal, end.signal]);
    let isDone = false;
    waiting++;
    try {
      await Promise.race([before, rejectOnAbort(within)]);
      for (;;) {
        try {
          const result = await action(within);
          isDone = true;
          return result;
        } catch (error) {
          within.throwIfAborted();
          if (!isHealedByTime(error)) throw error;
        }
        await clock.sleep(RETRY_EVERY_MS, within);
      }
    } finally {
      waiting--;
      leave();
      if (waiting === 0 && isDone) onResume(clock.now() - waitingSince);
    }
  }

  return {
    async run(action, signal) {
      if (waiting === 0) {
        try {
          return await action(signal);
        } catch (error) {
          if (!isHealedByTime(error) || signal.aborted || end.signal.aborted) throw error;
          if (waiting === 0) {
            waitingSince = clock.now();
            onWait(error);
          }
        }
      }
      return await waitInLine(action, signal);
    },
    giveUp() {
      end.abort(new AppError("database-unavailable", "The gateway ended before this could be stored."));
    },
  };
}

/** The same database, whose writes are made with retries. */
export function withRetries(database: Database, retries: RetryQueue): Database {
  return {
    path: database.path,
    hasFile: () => database.hasFile(),
    requireSameFile: () => database.requireSameFile(),
    prepare: (sql) => database.prepare(sql),
    write: (action, signal) => retries.run((within) => database.write(action, within), signal),
    releaseSpace: (signal) => database.releaseSpace(signal),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
