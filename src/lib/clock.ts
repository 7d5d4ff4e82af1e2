import { setTimeout as delay } from "node:timers/promises";

/** Where a part gets the time from, so that a test can turn it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` of this clock's time; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1; // Node fires a longer timer at once

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    signal.throwIfAborted();
    let left = ms;
    do {
      const step = Math.min(left, LONGEST_TIMER_MS);
      await delay(step, undefined, { signal }).catch(() => {
        throw signal.reason; // the timer itself only says "AbortError"
      });
      left -= step;
    } while (left > 0);
  },
};
