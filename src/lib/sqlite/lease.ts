import { AppError } from "../errors.ts";
import {
  checkLiveness,
  type ProcessIdentity,
  parseIdentity,
  serialiseIdentity,
} from "../process/process-identity.ts";
import type { Database } from "./database.ts";
import type { Migration } from "./migrate.ts";

/** The migration that `createLeases` requires. */
export const leaseMigration: Migration = {
  name: "leases",
  // AUTOINCREMENT never reuses a number, so tokens keep increasing although ended leases are deleted.
  sql: `
    create table lease (
      token integer primary key autoincrement,
      name text not null unique,
      owner text not null,
      ttl_ms integer not null check (ttl_ms > 0),
      expires_at integer not null
    ) strict`,
};

/** The token is a fencing token: if two processes believe that they hold a name, the one with the greater token does. */
export type AcquireResult =
  | { readonly token: number }
  | { readonly heldBy: ProcessIdentity; readonly expiresAt: number };

interface HeldRow {
  readonly token: number;
  readonly owner: string;
  readonly expires_at: number;
}

interface AnyRow extends HeldRow {
  readonly ttl_ms: number;
}

export type Leases = ReturnType<typeof createLeases>;

/** Named leases: at most one live holder each, decided by the database and its clock. It needs `leaseMigration`. */
export function createLeases(database: Database) {
  const find = database.prepare<HeldRow>(
    "select token, owner, expires_at from lease where name = ? and expires_at > hermes_now()",
  );
  const findAny = database.prepare<AnyRow>(
    "select token, owner, expires_at, ttl_ms from lease where name = ?",
  );
  const vacate = database.prepare("delete from lease where name = ?");
  const insert = database.prepare<{ token: number }>(`
    insert into lease (name, owner, ttl_ms, expires_at)
    values (:name, :owner, :ttlMs, hermes_now() + :ttlMs) returning token`);
  const extend = database.prepare(
    "update lease set expires_at = hermes_now() + ttl_ms where name = ? and token = ?",
  );
  const remove = database.prepare("delete from lease where name = ? and token = ?");

  /** Runs in one transaction: takes the name, or returns the row of its holder. */
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

  /** The process that holds the name and may still run. */
  async function findHolder(name: string, signal: AbortSignal): Promise<ProcessIdentity | undefined> {
    const held = find.get(name);
    if (held === undefined) return undefined;
    const owner = requireOwner(held.owner, name, database.path);
    return (await checkLiveness(owner, signal)) === "dead" ? undefined : owner;
  }

  return {
    /** Takes a name that is free, expired, or held by a process that has provably exited; otherwise returns the holder. */
    async acquire(
      name: string,
      owner: ProcessIdentity,
      ttlMs: number,
      signal: AbortSignal,
    ): Promise<AcquireResult> {
      const text = serialiseIdentity(owner);
      let deadToken: number | undefined;
      while (true) {
        const taken = await database.write(() => take(name, text, ttlMs, deadToken), signal);
        if ("token" in taken) return taken;
        const { held } = taken;
        const heldBy = requireOwner(held.owner, name, database.path);
        // Checked outside the transaction; the token proves afterwards that the row still belongs to the dead holder.
        if ((await checkLiveness(heldBy, signal)) !== "dead") return { heldBy, expiresAt: held.expires_at };
        deadToken = held.token;
      }
    },
    /** Whether a process that may still run holds the name. */
    isHeld: async (name: string, signal: AbortSignal): Promise<boolean> =>
      (await findHolder(name, signal)) !== undefined,
    findHolder,
    /** The process that holds or held the name and provably runs, even if its lease has expired. */
    async findLiveOwner(name: string, signal: AbortSignal): Promise<ProcessIdentity | undefined> {
      const held = findAny.get(name);
      if (held === undefined) return undefined;
      const owner = requireOwner(held.owner, name, database.path);
      return (await checkLiveness(owner, signal)) === "alive" ? owner : undefined;
    },
    /** When the name was last acquired or renewed, unless it was released; undefined if it was. */
    findRenewal(name: string): number | undefined {
      const row = findAny.get(name);
      return row && row.expires_at - row.ttl_ms;
    },
    /** Whether no other process has taken the name since; only reads. */
    isOwn: (name: string, token: number): boolean => findAny.get(name)?.token === token,
    /** Extends the lease by its original duration; false when it was lost. An expired lease that no process took is kept. */
    renew: (name: string, token: number, signal: AbortSignal) =>
      database.write(() => extend.run(name, token).changes === 1, signal),
    /** Releases the name; false when the lease was already lost. */
    release: (name: string, token: number, signal: AbortSignal) =>
      database.write(() => remove.run(name, token).changes === 1, signal),
  };
}

function requireOwner(text: string, name: string, path: string): ProcessIdentity {
  const owner = parseIdentity(text);
  if (owner !== undefined) return owner;
  throw new AppError("database-damaged", `${path}: the holder of the lease "${name}" is unreadable`);
}
