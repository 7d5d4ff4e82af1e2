import { AppError } from "../../src/lib/errors.ts";
import type { Clock } from "../../src/lib/time/clock.ts";

interface Gate {
  readonly actor: string;
  /** Does the work and returns its result to the actor; with `silent` the actor dies before it receives the result. */
  grant(silent: boolean): void;
  refuse(error: unknown): void;
}

interface Sleeper {
  readonly actor: string;
  readonly due: number;
  wake(): void;
}

/** Controls virtual time and the order of actors: an actor waits at each transaction and sleep until it may proceed. */
export class Scheduler {
  now = Date.UTC(2026, 0, 1);
  #gates: Gate[] = [];
  #sleepers: Sleeper[] = [];
  readonly #dead = new Set<string>();

  /** The actors that wait for a transaction, in the order of their requests. */
  get waiting(): readonly string[] {
    return [...new Set(this.#gates.map(({ actor }) => actor))];
  }

  get nextDue(): number | undefined {
    return this.#sleepers.length === 0 ? undefined : Math.min(...this.#sleepers.map(({ due }) => due));
  }

  /** Waits for this actor's turn and does the work in it. */
  transaction<Result>(actor: string, work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#dead.has(actor)) return;
      const grant = (silent: boolean): void => {
        try {
          const result = work();
          if (!silent) resolve(result);
        } catch (error) {
          if (!silent) reject(error);
        }
      };
      this.#gates.push({ actor, grant, refuse: reject });
    });
  }

  clockOf(actor: string): Clock {
    return {
      now: () => this.now,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal.aborted) return reject(signal.reason);
          if (this.#dead.has(actor)) return;
          const abort = (): void => {
            this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
            reject(signal.reason);
          };
          const wake = (): void => {
            signal.removeEventListener("abort", abort);
            resolve();
          };
          const sleeper: Sleeper = { actor, due: this.now + Math.max(0, ms), wake };
          this.#sleepers.push(sleeper);
          signal.addEventListener("abort", abort, { once: true });
        }),
    };
  }

  /** Does the actor's next transaction, and then kills the actor if requested; false when it waits for no transaction. */
  grant(actor: string, thenDies = false): boolean {
    const gate = this.#take(actor);
    gate?.grant(thenDies);
    if (thenDies) this.kill(actor);
    return gate !== undefined;
  }

  /** Fails the actor's next transaction without doing its work. */
  refuse(actor: string): boolean {
    const gate = this.#take(actor);
    gate?.refuse(new AppError("database-unavailable", "simulated: the database is unreachable"));
    return gate !== undefined;
  }

  /** Drops the pending and all future transactions and sleeps of an actor. */
  kill(actor: string): void {
    this.#dead.add(actor);
    this.#gates = this.#gates.filter((gate) => gate.actor !== actor);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.actor !== actor);
  }

  /** Advances the time and wakes the actors whose sleep has ended. */
  advanceTo(time: number): void {
    this.now = Math.max(this.now, time);
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= this.now);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.due > this.now);
    for (const { wake } of due) wake();
  }

  #take(actor: string): Gate | undefined {
    const index = this.#gates.findIndex((gate) => gate.actor === actor);
    return index === -1 ? undefined : this.#gates.splice(index, 1)[0];
  }
}

/** Resolves when all actors wait at a transaction or sleep: Node runs this callback when no promise job is left. */
export function waitForActors(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
