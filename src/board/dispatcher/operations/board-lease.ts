import { shorten } from "../../../lib/text/shorten.ts";
import { first, only, run, type Steps } from "../../database/steps.ts";

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

export interface DispatcherRow {
  readonly owner: string;
  readonly host_id: string;
  readonly last_tick_at: number;
  readonly last_error: string | null;
  readonly last_error_at: number | null;
  readonly last_report: string | null;
}

/** Records a pass of a dispatcher with its report or error. */
export function* recordPass(
  owner: string,
  hostId: string,
  outcome: { readonly report: string } | { readonly error: string },
): Steps<void> {
  const failed = "error" in outcome;
  yield* run(
    `insert into dispatcher (owner, host_id, last_tick_at, last_error, last_error_at, last_report)
     values (:owner, :hostId, hermes_now(), cast(:error as text),
             case when cast(:error as text) is null then null else hermes_now() end, cast(:report as text))
     on conflict (owner) do update set last_tick_at = excluded.last_tick_at,
       last_error = coalesce(excluded.last_error, dispatcher.last_error),
       last_error_at = coalesce(excluded.last_error_at, dispatcher.last_error_at),
       last_report = coalesce(excluded.last_report, dispatcher.last_report)`,
    {
      owner,
      hostId,
      error: failed ? shorten(outcome.error, 500) : null,
      report: failed ? null : outcome.report,
    },
  );
  yield* run(`delete from dispatcher where last_tick_at < hermes_now() - ${KEPT_MS}`);
}

/** The name of a host as its dispatchers reported it, or a prefix of its id if none has reported one. */
export function* findHostName(hostId: string): Steps<string> {
  const row = yield* first<{ last_report: string }>(
    `select last_report from dispatcher where host_id = :hostId and last_report is not null
      order by last_tick_at desc limit 1`,
    { hostId },
  );
  const { host } = JSON.parse(row?.last_report ?? "{}") as { host?: string };
  return host ?? hostId.slice(0, 8);
}

const KEPT_MS = 7 * 86_400_000;

/** The number of the last event; it changes with every change of the board. */
export function* readLastEventNumber(): Steps<number> {
  const { value } = yield* only<{ value: number }>("select value from counter where name = 'event'");
  return value;
}
