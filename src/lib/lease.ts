import type { Database } from "./database.ts";
import { AppError } from "./errors.ts";
import type { Migration } from "./migrate.ts";
import { livenessOf, type ProcessIdentity, parseIdentity, serialiseIdentity } from "./process-identity.ts";

/** What a database needs for `createLeases`. */
export const leaseMigration: Migration = {
  name: "leases",
  // AUTOINCREMENT never gives a number twice, so tokens keep rising although a lease that ends is deleted.
  sql: `
    create table lease (
      token integer primary key autoincrement,
      name text not null unique,
      owner text not null,
      ttl_ms integer not null check (ttl_ms > 0),
      expires_at integer not null
    ) strict`,
};

/** The token fences: of two who believe to hold a name, the one with the greater token is right. */
export type AcquireResult =
  | { readonly token: number }
  | { readonly heldBy: ProcessIdentity; readonly expiresAt: number };

/** Named leases: at most one live holder each, decided by the database and its clock. */
export interface Leases {
  /** Takes a name that is free, has expired, or whose holder is provably dead; else says who holds it. */
  acquire(name: string, owner: ProcessIdentity, ttlMs: number, signal: AbortSignal): Promise<AcquireResult>;
  /** Extends by the time given at first; false when the lease was lost. An expired one that nobody took is kept. */
  renew(name: string, token: number, signal: AbortSignal): Promise<boolean>;
  /** Gives the name back; false when it was no longer ours to give. */
  release(name: string, token: number, signal: AbortSignal): Promise<boolean>;
}

interface HeldRow {
  readonly token: number;
  readonly owner: string;
  readonly expires_at: number;
}

/** The leases in a database that has had `leaseMigration`. */
export function createLeases(database: Database): Leases {
  const find = database.prepare<HeldRow>(
    "select token, owner, expires_at from lease where name = ? and expires_at > hermes_now()",
  );
  const vacate = database.prepare("delete from lease where name = ?");
  const insert = database.prepare<{ token: number }>(`
    insert into lease (name, owner, ttl_ms, expires_at)
    values (:name, :owner, :ttlMs, hermes_now() + :ttlMs) returning token`);
  const extend = database.prepare(
    "update lease set expires_at = hermes_now() + ttl_ms where name = ? and token = ?",
  );
  const remove = database.prepare("delete from lease where name = ? and token = ?");

  /** Runs in one transaction: either takes the name, or returns the row that stands in the way. */
  function take(
    name: string,
    owner: string,
    ttlMs: number,
    deadToken: number | undefined,
  ): { readonly token: number } | { readonly held: HeldRow } {
    const held = find.get(name);
    if (held !== undefined && held.token !== deadToken) return { held };
    vacate.run(name);
    const row = insert.get({ name, owner, ttlMs });
    if (row === undefined) throw new Error("insert returned no row");
    return { token: row.token };
  }

  return {
    async acquire(name, owner, ttlMs, signal) {
      const text = serialiseIdentity(owner);
      let deadToken: number | undefined;
      while (true) {
        const taken = await database.write(() => take(name, text, ttlMs, deadToken), signal);
        if ("token" in taken) return taken;
        const { held } = taken;
        const heldBy = requireOwner(held.owner, name, database.path);
        // Asked outside the transaction; the token proves afterwards that it was this holder who was dead.
        if ((await livenessOf(heldBy, signal)) !== "dead") return { heldBy, expiresAt: held.expires_at };
        deadToken = held.token;
      }
    },
    renew: (name, token, signal) => database.write(() => extend.run(name, token).changes === 1, signal),
    release: (name, token, signal) => database.write(() => remove.run(name, token).changes === 1, signal),
  };
}

function requireOwner(text: string, name: string, path: string): ProcessIdentity {
  const owner = parseIdentity(text);
  if (owner !== undefined) return owner;
  throw new AppError("database-damaged", `${path}: the holder of the lease "${name}" is unreadable`);
}
