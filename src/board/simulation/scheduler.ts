import type { Clock } from "../../lib/clock.ts";
import { AppError } from "../../lib/errors.ts";

interface Gate {
  readonly actor: string;
  /** Does the work and hands its result on; `silent` keeps it from the actor, who dies with it done. */
  grant(silent: boolean): void;
  refuse(error: unknown): void;
}

interface Sleeper {
  readonly actor: string;
  readonly due: number;
  wake(): void;
}

/** Virtual time, and who goes next: an actor comes on only at its transactions and its sleeps, when it is told to. */
export class Scheduler {
  now = Date.UTC(2026, 0, 1);
  #gates: Gate[] = [];
  #sleepers: Sleeper[] = [];
  readonly #dead = new Set<string>();

  /** Those that wait for a transaction, in the order in which they came. */
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

  /** Does the actor's next transaction; as its last act when it then dies. False when it wants none. */
  grant(actor: string, thenDies = false): boolean {
    const gate = this.#take(actor);
    gate?.grant(thenDies);
    if (thenDies) this.kill(actor);
    return gate !== undefined;
  }

  /** Fails the actor's next transaction, which has then not happened. */
  refuse(actor: string): boolean {
    const gate = this.#take(actor);
    gate?.refuse(new AppError("database-unavailable", "simulated: the database is away"));
    return gate !== undefined;
  }

  /** What an actor wanted never happens, and nothing it may want from now on. */
  kill(actor: string): void {
    this.#dead.add(actor);
    this.#gates = this.#gates.filter((gate) => gate.actor !== actor);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.actor !== actor);
  }

  /** Moves the time on and wakes whoever is due. */
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

/** Resolves when everyone has come to their next transaction or sleep: Node runs this when no promise is left to go on. */
export function everyoneRests(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
