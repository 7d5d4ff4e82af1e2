import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/lib/time/clock.ts";

interface Sleeper {
  due: number;
  wake(): void;
}

/** A clock that stands still until a test advances it. */
export class TurnableClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** The number of pending sleeps; poll it to detect that the code under test is waiting. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      };
      const sleeper: Sleeper = {
        due: this.#now + ms,
        wake: () => {
          this.#sleepers.delete(sleeper);
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** Sets the time back, as a person or a time server does; pending sleeps keep their remaining time. */
  setBack(ms: number): void {
    this.#now -= ms;
    for (const sleeper of this.#sleepers) sleeper.due -= ms;
  }

  /** Advances the time and wakes each sleeper at its own time and in order, including those that start to sleep meanwhile. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    await turn(); // code that was just started may not sleep yet
    for (let next = this.#nextUntil(target); next !== undefined; next = this.#nextUntil(target)) {
      this.#now = Math.max(this.#now, next.due);
      next.wake();
      await turn(); // a woken sleeper may sleep again within this advance
    }
    this.#now = target;
  }

  #nextUntil(target: number): Sleeper | undefined {
    let next: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.due <= target && (next === undefined || sleeper.due < next.due)) next = sleeper;
    }
    return next;
  }
}
