import type { Change } from "../change.ts";

/** How many tasks may run; left out means any number. */
export interface Caps {
  /** On this board. */
  readonly board?: number;
  /** On the host that claims, those of other boards included. */
  readonly host?: number;
  /** What runs on this host for other boards. */
  readonly elsewhere?: number;
  /** Of one profile, for all alike or by name; 0 means any number. */
  readonly perProfile?: number | Readonly<Record<string, number>>;
}

export type CapRefusal = "board-cap" | "host-cap" | "profile-cap";

export interface Counter {
  readonly name: string;
  readonly value: number;
}

const BOARD = "running";
const PROFILE = "running/profile/";

/** What runs now, counted; the rows are for `Room`. */
export const RUNNING = "select name, value from counter where value > 0 and name <> 'event'";

export function isCapped({ board, host, perProfile }: Caps): boolean {
  return board !== undefined || host !== undefined || perProfile !== undefined;
}

/**
 * What is left of the caps. Others may be looking too, so that `take` also tells the counters, which have the last word
 * when they are raised at the end of the transaction: one that would go beyond a cap starts again.
 */
export class Room {
  readonly #change: Change;
  readonly #board: number;
  readonly #host: number;
  readonly #perProfile: Caps["perProfile"];
  readonly #hostCounter: string;
  readonly #running = new Map<string, number>();

  constructor(change: Change, caps: Caps, hostId: string, counters: readonly Counter[]) {
    this.#change = change;
    this.#board = caps.board ?? Infinity;
    this.#host = (caps.host ?? Infinity) - (caps.elsewhere ?? 0);
    this.#perProfile = caps.perProfile;
    this.#hostCounter = `running/host/${hostId}`;
    for (const { name, value } of counters) this.#running.set(name, value);
  }

  /** How many more may run, whosever they are. */
  left(): number {
    return Math.min(this.#left(BOARD, this.#board), this.#left(this.#hostCounter, this.#host));
  }

  fullProfiles(): readonly string[] {
    const full: string[] = [];
    for (const name of this.#running.keys()) {
      const profile = name.slice(PROFILE.length);
      if (name.startsWith(PROFILE) && this.#left(name, this.#capOf(profile)) <= 0) full.push(profile);
    }
    return full;
  }

  refusalFor(profile: string | null): CapRefusal | undefined {
    if (this.#left(BOARD, this.#board) <= 0) return "board-cap";
    if (this.#left(this.#hostCounter, this.#host) <= 0) return "host-cap";
    if (profile === null) return undefined;
    return this.#left(PROFILE + profile, this.#capOf(profile)) <= 0 ? "profile-cap" : undefined;
  }

  take(profile: string | null): void {
    this.#count(BOARD, this.#board);
    this.#count(this.#hostCounter, this.#host);
    if (profile !== null) this.#count(PROFILE + profile, this.#capOf(profile));
  }

  #count(counter: string, limit: number): void {
    this.#running.set(counter, (this.#running.get(counter) ?? 0) + 1);
    this.#change.limit(counter, limit);
  }

  #left(counter: string, limit: number): number {
    return limit - (this.#running.get(counter) ?? 0);
  }

  #capOf(profile: string): number {
    const cap = typeof this.#perProfile === "number" ? this.#perProfile : this.#perProfile?.[profile];
    return cap || Infinity;
  }
}
