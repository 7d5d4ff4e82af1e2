import type { ProcessIdentity } from "../process/process-identity.ts";
import type { Clock } from "../time/clock.ts";
import type { Database } from "./database.ts";
import { createLeases } from "./lease.ts";

export interface HeldLease {
  readonly name: string;
  readonly ttlMs: number;
  readonly renewEveryMs: number;
  readonly identity: ProcessIdentity;
  readonly clock: Clock;
}

const RELEASE_WITHIN_MS = 5_000;

/**
 * Holds a lease while `action` runs; `lost` aborts if another process may have taken it. Returns the holder instead, without
 * running the action, if another process holds it.
 */
export async function holdLease<Result>(
  database: Database,
  { name, ttlMs, renewEveryMs, identity, clock }: HeldLease,
  action: (lost: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): Promise<{ readonly result: Result } | { readonly heldBy: ProcessIdentity }> {
  const leases = createLeases(database);
  const taken = await leases.acquire(name, identity, ttlMs, signal);
  if ("heldBy" in taken) return { heldBy: taken.heldBy };
  const lost = new AbortController();
  const end = new AbortController();
  const renew = async (): Promise<void> => {
    let renewedAt = clock.now();
    for (;;) {
      await clock.sleep(renewEveryMs, end.signal);
      try {
        if (!(await leases.renew(name, taken.token, end.signal))) return lost.abort();
        renewedAt = clock.now();
      } catch {
        if (clock.now() - renewedAt + renewEveryMs >= ttlMs) return lost.abort();
      }
    }
  };
  renew().catch(() => undefined); // ends with the action
  try {
    return { result: await action(lost.signal) };
  } finally {
    end.abort();
    await leases.release(name, taken.token, AbortSignal.timeout(RELEASE_WITHIN_MS)).catch(() => undefined);
  }
}
