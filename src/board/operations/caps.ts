import type { Change } from "../change.ts";
import { all, type Steps } from "../database/steps.ts";

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

/** What is left of the caps. */
export interface Room {
  /** How many more may run, whosever they are. */
  left(): number;
  readonly fullProfiles: readonly string[];
  refusalFor(profile: string | null): CapRefusal | undefined;
  take(profile: string | null): void;
}

const PROFILE = "running/profile/";

/**
 * The room as it looks now. Others may be looking too, so that `take` also tells the counters, which have the last word
 * when they are raised at the end of the transaction: one that would go beyond a cap starts again.
 */
export function* loadRoom(change: Change, caps: Caps, hostId: string): Steps<Room> {
  const { board = Infinity, host = Infinity, elsewhere = 0, perProfile } = caps;
  const hostCounter = `running/host/${hostId}`;
  const limits: Record<string, number> = { running: board, [hostCounter]: host - elsewhere };
  const isCapped = board !== Infinity || host !== Infinity || perProfile !== undefined;
  const rows = isCapped
    ? yield* all<{ name: string; value: number }>(
        "select name, value from counter where value > 0 and name <> 'event'",
      )
    : [];
  const running = new Map(rows.map(({ name, value }) => [name, value]));
  const capOf = (profile: string): number =>
    (typeof perProfile === "number" ? perProfile : perProfile?.[profile]) || Infinity;
  const leftOf = (counter: string, limit: number): number => limit - (running.get(counter) ?? 0);
  const leftFor = (profile: string | null): number =>
    profile === null ? Infinity : leftOf(PROFILE + profile, capOf(profile));

  return {
    left: () => Math.min(...Object.entries(limits).map(([counter, limit]) => leftOf(counter, limit))),
    fullProfiles: rows
      .filter(({ name }) => name.startsWith(PROFILE))
      .map(({ name }) => name.slice(PROFILE.length))
      .filter((profile) => leftFor(profile) <= 0),
    refusalFor(profile) {
      if (leftOf("running", board) <= 0) return "board-cap";
      if (leftOf(hostCounter, host - elsewhere) <= 0) return "host-cap";
      return leftFor(profile) <= 0 ? "profile-cap" : undefined;
    },
    take(profile) {
      const taken = { ...limits, ...(profile !== null && { [PROFILE + profile]: capOf(profile) }) };
      for (const [counter, limit] of Object.entries(taken)) {
        running.set(counter, (running.get(counter) ?? 0) + 1);
        change.limit(counter, limit);
      }
    },
  };
}
