import { all, only, type Steps } from "../../database/steps.ts";

/** Limits for running tasks; an omitted cap means no limit. */
export interface Caps {
  /** Running tasks of this board. */
  readonly board?: number | undefined;
  /** Running tasks of the claiming host, including those of other boards. */
  readonly host?: number | undefined;
  /** The number of tasks that run on this host for other boards. */
  readonly runningElsewhere?: number;
  /** Running tasks of one profile: one number for all profiles, or a number by name; 0 means no limit. */
  readonly perProfile?: number | Readonly<Record<string, number>> | undefined;
}

export type CapRefusal = "board-cap" | "host-cap" | "profile-cap";

/** Counts one more running task of a profile, unless a cap is reached. */
export type CountRun = (profile: string | null) => CapRefusal | undefined;

/** Locks the caps until this transaction ends: every claim updates the counter that is locked here. */
export function* lockCaps(caps: Caps, hostId: string): Steps<CountRun> {
  const { board = Infinity, host = Infinity, runningElsewhere = 0, perProfile } = caps;
  if (board === Infinity && host === Infinity && perProfile === undefined) return () => undefined;
  yield* only("select value from counter where name = 'running' {lock}");
  const rows = yield* all<{ name: string; value: number }>(
    "select name, value from counter where value > 0 and name <> 'event'",
  );
  const running = new Map(rows.map(({ name, value }) => [name, value]));
  return (profile) => {
    const cap = typeof perProfile === "object" ? perProfile[profile ?? ""] : perProfile;
    const limits: readonly (readonly [CapRefusal, counter: string, limit: number])[] = [
      ["board-cap", "running", board],
      ["host-cap", `running/host/${hostId}`, host - runningElsewhere],
      ["profile-cap", `running/profile/${profile}`, (profile !== null && cap) || Infinity],
    ];
    const reached = limits.find(([, counter, limit]) => (running.get(counter) ?? 0) >= limit);
    if (reached !== undefined) return reached[0];
    for (const [, counter] of limits) running.set(counter, (running.get(counter) ?? 0) + 1);
    return undefined;
  };
}
