import { setTimeout as delay } from "node:timers/promises";

/** Source of time, so that a test can control it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` of this clock's time; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const MAX_TIMER_MS = 2 ** 31 - 1; // Node fires a longer timer immediately

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    signal.throwIfAborted();
    let leftMs = ms;
    do {
      const step = Math.min(leftMs, MAX_TIMER_MS);
      await delay(step, undefined, { signal }).catch(() => {
        throw signal.reason; // the timer rejects with a plain AbortError instead of the reason
      });
      leftMs -= step;
    } while (leftMs > 0);
  },
};
