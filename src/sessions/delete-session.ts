import type { Database } from "../lib/database.ts";
import { AppError } from "../lib/errors.ts";
import type { Leases } from "../lib/lease.ts";
import type { ProcessIdentity } from "../lib/process-identity.ts";
import type { SearchIndex } from "./search/search-index.ts";
import { busyError, TURN_TIMES, turnLeaseName } from "./session-turn.ts";

export interface DeletedSessions {
  /** The session itself first, then those of its subagents. */
  readonly ids: readonly string[];
  readonly messages: number;
}

interface Doomed {
  readonly key: number;
  readonly id: string;
}

export type DeleteSession = (
  id: string,
  identity: ProcessIdentity,
  signal: AbortSignal,
) => Promise<DeletedSessions>;

/** Removes a session for good, with its messages, their index and the sessions of its subagents; never one in use. */
export function createSessionDeleter(database: Database, leases: Leases, index: SearchIndex): DeleteSession {
  const family = database.prepare<Doomed>(`
    with recursive family (key, id) as (
      select key, id from session where id = ?
      union select session.key, session.id from session join family on session.parent_key = family.key
       where session.source = 'subagent')
    select key, id from family`);
  const listMessages = database.prepare<{ key: number }>(
    "select message.key from turn join message on message.turn_key = turn.key where turn.session_key = ?",
  );
  const remove = database.prepare("delete from session where key = ?");

  function removeAll(
    doomed: readonly Doomed[],
    held: ReadonlyMap<string, number>,
    forget: (keys: readonly number[]) => void,
  ): DeletedSessions {
    let messages = 0;
    for (const { key, id } of doomed) {
      if (!held.has(id)) throw new AppError("session-busy", `Session ${id} has just begun.`);
      const keys = listMessages.all(key).map((row) => row.key);
      messages += keys.length;
      forget(keys);
      remove.run(key);
    }
    return { ids: doomed.map(({ id }) => id), messages };
  }

  return async (id, identity, signal) => {
    const held = new Map<string, number>();
    try {
      // Nobody can begin a turn while we hold its lease.
      for (const session of family.all(id)) {
        const taken = await leases.acquire(turnLeaseName(session.id), identity, TURN_TIMES.leaseMs, signal);
        if ("heldBy" in taken) throw busyError(database, session.id, taken, identity);
        held.set(session.id, taken.token);
      }
      if (held.size === 0) throw new AppError("session-not-found", `There is no session ${id}.`);
      return await index.change((forget) => removeAll(family.all(id), held, forget), signal);
    } finally {
      for (const [name, token] of held) await leases.release(turnLeaseName(name), token, signal);
    }
  };
}
