import { requireRight } from "../caller.ts";
import type { Change } from "../change.ts";
import { first, only, run, type Steps } from "../database/steps.ts";

/** What someone who asks for a lease gets: its token, or who has it. Of two who believe to have it, the greater token is right. */
export type LeaseAnswer =
  | { readonly token: number }
  | { readonly heldBy: string; readonly heldToken: number; readonly expiresAt: number };

/**
 * Takes a name that is free or has expired, or whose holder of `deadToken` is proven dead; proof is looked for outside
 * of the transaction, and the token says that it was this holder.
 */
export function* acquireLease(
  change: Change,
  name: string,
  owner: string,
  ttlMs: number,
  deadToken = 0,
): Steps<LeaseAnswer> {
  requireRight(change.caller, "maintain");
  const taken = yield* first<{ token: number }>(
    `insert into lease (name, token, owner, ttl_ms, expires_at)
     values (:name, 1, :owner, cast(:ttlMs as bigint), hermes_now() + cast(:ttlMs as bigint))
     on conflict (name) do update set token = lease.token + 1, owner = excluded.owner, ttl_ms = excluded.ttl_ms,
            expires_at = excluded.expires_at
      where lease.expires_at <= hermes_now() or lease.token = cast(:deadToken as bigint) returning token`,
    { name, owner, ttlMs, deadToken },
  );
  if (taken !== undefined) return { token: taken.token };
  const held = yield* only<{ owner: string; token: number; expires_at: number }>(
    "select owner, token, expires_at from lease where name = :name",
    { name },
  );
  return { heldBy: held.owner, heldToken: held.token, expiresAt: held.expires_at };
}

/** Extends a lease by its time; false when it was lost. One that expired without being taken is kept. */
export function* renewLease(change: Change, name: string, token: number): Steps<boolean> {
  requireRight(change.caller, "maintain");
  const renewed = yield* run(
    "update lease set expires_at = hermes_now() + ttl_ms where name = :name and token = :token",
    { name, token },
  );
  return renewed === 1;
}

/** Gives a name back; false when it was no longer one's own. Its row stays, so that tokens only ever rise. */
export function* releaseLease(change: Change, name: string, token: number): Steps<boolean> {
  requireRight(change.caller, "maintain");
  const released = yield* run("update lease set expires_at = 0 where name = :name and token = :token", {
    name,
    token,
  });
  return released === 1;
}
