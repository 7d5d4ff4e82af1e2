import { AppError } from "../../lib/errors.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Leases } from "../../lib/sqlite/lease.ts";
import { createBusyError, TURN_TIMES, turnLeaseName } from "../session-turn.ts";

/** Runs one transaction on a session in which no turn runs; `change` gets the key of the session. */
export type ChangeSession = <Result>(
  id: string,
  identity: ProcessIdentity,
  change: (key: number) => Result,
  signal: AbortSignal,
) => Promise<Result>;

/** Throws `session-busy` while a turn runs, even in another process, and `session-not-found`. */
export function createSessionChanger(database: Database, leases: Leases): ChangeSession {
  const find = database.prepare<{ key: number }>("select key from session where id = ?");
  const holds = database.prepare("select 1 from lease where name = ? and token = ?");
  return async (id, identity, change, signal) => {
    const name = turnLeaseName(id);
    const taken = await leases.acquire(name, identity, TURN_TIMES.leaseMs, signal);
    if ("heldBy" in taken) throw createBusyError(database, id, taken, identity);
    try {
      return await database.write(() => {
        if (holds.get(name, taken.token) === undefined)
          throw new AppError("session-busy", `Another process has just started a turn in session ${id}.`);
        const session = find.get(id);
        if (session === undefined) throw new AppError("session-not-found", `There is no session ${id}.`);
        return change(session.key);
      }, signal);
    } finally {
      await leases.release(name, taken.token, signal);
    }
  };
}
