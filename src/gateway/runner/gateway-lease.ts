import { AppError } from "../../lib/errors.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { holdLease } from "../../lib/sqlite/hold-lease.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** The lease of the one gateway of a profile. */
export const GATEWAY_LEASE = "gateway";
export const GATEWAY_LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;

/** Holds the one lease of a profile's gateway while `action` runs, as `holdLease` does; throws `gateway-running`. */
export async function holdGatewayLease<Result>(
  database: Database,
  identity: ProcessIdentity,
  clock: Clock,
  action: (lost: AbortSignal, lastRenewal: number | undefined) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const lease = {
    name: GATEWAY_LEASE,
    ttlMs: GATEWAY_LEASE_MS,
    renewEveryMs: RENEW_EVERY_MS,
    identity,
    clock,
  };
  const held = await holdLease(database, lease, action, signal);
  if ("result" in held) return held.result;
  throw new AppError(
    "gateway-running",
    `A gateway of this profile runs already, as process ${held.heldBy.pid}.`,
  );
}
