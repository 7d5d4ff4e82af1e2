import { AppError } from "../errors.ts";
import type { ProcessIdentity } from "../process/process-identity.ts";
import type { Clock } from "../time/clock.ts";
import type { Database } from "./database.ts";
import { isHealedByTime } from "./database-error.ts";
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
 * Holds a lease while `action` runs; `lost` aborts if another process may have taken it, or with the reason `home-gone` if the file
 * was removed, and `lastRenewal` is the last sign of life of a holder that was killed. Returns the holder instead, without running
 * the action, if another process holds it. A holder that provably runs keeps it even if it has expired: a full disk or a clock that
 * jumps must not lead to two holders.
 */
export async function holdLease<Result>(
  database: Database,
  { name, ttlMs, renewEveryMs, identity, clock }: HeldLease,
  action: (lost: AbortSignal, lastRenewal: number | undefined) => Promise<Result>,
  signal: AbortSignal,
): Promise<{ readonly result: Result } | { readonly heldBy: ProcessIdentity }> {
  const leases = createLeases(database);
  const owner = await leases.findLiveOwner(name, signal);
  if (owner !== undefined) return { heldBy: owner };
  const lastRenewal = leases.findRenewal(name);
  const taken = await leases.acquire(name, identity, ttlMs, signal);
  if ("heldBy" in taken) return { heldBy: taken.heldBy };
  const lost = new AbortController();
  const end = new AbortController();
  const isOwn = (): boolean => {
    try {
      return leases.isOwn(name, taken.token);
    } catch {
      return false; // it cannot be read either
    }
  };
  const renew = async (): Promise<void> => {
    let renewedAt = performance.now(); // the clock of the machine may be set
    for (;;) {
      await clock.sleep(renewEveryMs, end.signal);
      if (!database.hasFile())
        return lost.abort(new AppError("home-gone", `${database.path} was removed while it was in use.`));
      try {
        if (!(await leases.renew(name, taken.token, end.signal))) return lost.abort();
        renewedAt = performance.now();
      } catch (error) {
        // If this process cannot write, most likely no other process can; reading shows whether one has taken the lease.
        if (isHealedByTime(error) && isOwn()) continue;
        if (performance.now() - renewedAt + renewEveryMs >= ttlMs) return lost.abort();
      }
    }
  };
  renew().catch(() => undefined); // ends with the action
  try {
    return { result: await action(lost.signal, lastRenewal) };
  } finally {
    end.abort();
    await leases.release(name, taken.token, AbortSignal.timeout(RELEASE_WITHIN_MS)).catch(() => undefined);
  }
}
