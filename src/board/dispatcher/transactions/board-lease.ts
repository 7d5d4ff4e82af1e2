import { first, run, type Steps } from "../../database/steps.ts";

export const BOOKKEEPING_LEASE = "bookkeeping";
/** Each guarded write renews the lease; a dispatcher that hangs for longer loses it. */
export const LEASE_MS = 30_000;

export interface LeaseHolder {
  readonly token: number;
  readonly owner: string;
  readonly expires_at: number;
  readonly now: number;
}

/** Thrown inside a transaction whose dispatcher has lost the lease, so that the transaction is rolled back. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** The current or last holder of the lease. */
export function* findLeaseHolder(): Steps<LeaseHolder | undefined> {
  return yield* first<LeaseHolder>(
    "select token, owner, expires_at, hermes_now() as now from dispatch_lease where name = :name",
    { name: BOOKKEEPING_LEASE },
  );
}

/** Takes the lease if it is free, expired, ours, or held under `deadToken` by a process that has exited; else undefined. */
export function* takeLease(owner: string, deadToken = 0): Steps<number | undefined> {
  const row = yield* first<{ token: number }>(
    `insert into dispatch_lease (name, token, owner, expires_at)
     values (:name, 1, :owner, hermes_now() + ${LEASE_MS})
     on conflict (name) do update
        set token = dispatch_lease.token + case when dispatch_lease.owner = excluded.owner then 0 else 1 end,
            owner = excluded.owner, expires_at = excluded.expires_at
      where dispatch_lease.owner = excluded.owner or dispatch_lease.expires_at <= hermes_now()
         or dispatch_lease.token = cast(:deadToken as bigint)
     returning token`,
    { name: BOOKKEEPING_LEASE, owner, deadToken },
  );
  return row?.token;
}

/** Throws `LeaseLost` unless the lease is still ours; renews it, so that it outlasts this transaction. */
export function* requireLease(token: number): Steps<void> {
  const kept = yield* run(
    `update dispatch_lease set expires_at = hermes_now() + ${LEASE_MS}
      where name = :name and token = :token and expires_at > hermes_now()`,
    { name: BOOKKEEPING_LEASE, token },
  );
  if (kept !== 1) throw new LeaseLost("another dispatcher does the bookkeeping");
}

/** Releases the lease, so that another dispatcher can take it at once; the row keeps its owner. */
export function* releaseLease(token: number): Steps<void> {
  yield* run("update dispatch_lease set expires_at = 0 where name = :name and token = :token", {
    name: BOOKKEEPING_LEASE,
    token,
  });
}
