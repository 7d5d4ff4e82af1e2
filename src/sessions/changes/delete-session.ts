import { AppError } from "../../lib/errors.ts";
import type { ProcessIdentity } from "../../lib/process/process-identity.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Leases } from "../../lib/sqlite/lease.ts";
import type { SearchIndex } from "../search/search-index.ts";
import { createBusyError, TURN_TIMES, turnLeaseName } from "../session-turn.ts";

export interface DeletedSessions {
  /** The session itself comes first, then the sessions of its subagents. */
  readonly ids: readonly string[];
  readonly messages: number;
}

interface SessionKey {
  readonly key: number;
  readonly id: string;
}

export type DeleteSession = (
  id: string,
  identity: ProcessIdentity,
  signal: AbortSignal,
  /** Refuses to delete the session if it was used since this time. */
  unusedSince?: number,
) => Promise<DeletedSessions>;

/** Deletes a session with its messages, index entries and subagent sessions; refuses a session that is in use. */
export function createSessionDeleter(database: Database, leases: Leases, index: SearchIndex): DeleteSession {
  const family = database.prepare<SessionKey>(`
    with recursive family (key, id) as (
      select key, id from session where id = ?
      union select session.key, session.id from session join family on session.parent_key = family.key
       where session.source = 'subagent')
    select key, id from family`);
  const listMessages = database.prepare<{ key: number }>(
    "select message.key from turn join message on message.turn_key = turn.key where turn.session_key = ?",
  );
  const remove = database.prepare("delete from session where key = ?");
  const isUsedSince = database.prepare("select 1 from session where id = ? and active_at >= ?");

  function removeAll(
    sessions: readonly SessionKey[],
    held: ReadonlyMap<string, number>,
    forget: (keys: readonly number[]) => void,
  ): DeletedSessions {
    let messages = 0;
    for (const { key, id } of sessions) {
      if (!held.has(id)) throw new AppError("session-busy", `Session ${id} has just been started.`);
      const keys = listMessages.all(key).map((row) => row.key);
      messages += keys.length;
      forget(keys);
      remove.run(key);
    }
    return { ids: sessions.map(({ id }) => id), messages };
  }

  return async (id, identity, signal, unusedSince = Number.POSITIVE_INFINITY) => {
    const held = new Map<string, number>();
    try {
      // While this process holds a session's lease, no other process can start a turn in that session.
      for (const session of family.all(id)) {
        const taken = await leases.acquire(turnLeaseName(session.id), identity, TURN_TIMES.leaseMs, signal);
        if ("heldBy" in taken) throw createBusyError(database, session.id, taken, identity);
        held.set(session.id, taken.token);
      }
      if (held.size === 0) throw new AppError("session-not-found", `There is no session ${id}.`);
      return await index.change((forget) => {
        if (isUsedSince.get(id, unusedSince) !== undefined)
          throw new AppError("session-busy", `Session ${id} has just been used.`);
        return removeAll(family.all(id), held, forget);
      }, signal);
    } finally {
      for (const [name, token] of held) await leases.release(turnLeaseName(name), token, signal);
    }
  };
}
