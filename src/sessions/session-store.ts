import { checkIntegrity } from "../lib/check-integrity.ts";
import { checkSchema } from "../lib/check-schema.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { openDatabase } from "../lib/database.ts";
import { AppError } from "../lib/errors.ts";
import { createLeases } from "../lib/lease.ts";
import type { ProcessIdentity } from "../lib/process-identity.ts";
import { createSessionDeleter, type DeleteSession } from "./delete-session.ts";
import { createSessionLoader } from "./load-session.ts";
import { createPrefixStore } from "./prefix-store.ts";
import { createEventRecorder } from "./record-event.ts";
import { createSearchIndex } from "./search/search-index.ts";
import { createSessionSearch, type FoundSession, type SearchQuery } from "./search/search-sessions.ts";
import type { LoadedSession, NewSession, SessionDraft } from "./session.ts";
import { createSessionId } from "./session-id.ts";
import { createSessionList, type SessionList } from "./session-list.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { acquireTurn, type SessionTurn, TURN_TIMES, type TurnTimes } from "./session-turn.ts";
import { createSessionUsage, type SessionUsage } from "./session-usage.ts";

/** All conversations of one profile, shared with every process that has the file open. */
export interface SessionStore extends Disposable {
  readonly list: SessionList;
  readonly usage: SessionUsage;
  /** A session with an id of its own; nothing is stored before its first turn begins. */
  createSession(session: NewSession): SessionDraft;
  /** Throws `session-not-found`. */
  loadSession(id: string): LoadedSession;
  /** The right to add to a session; throws `session-busy` while another process has it. */
  acquireTurn(
    session: string | SessionDraft,
    identity: ProcessIdentity,
    signal: AbortSignal,
  ): Promise<SessionTurn>;
  search(query: SearchQuery, signal: AbortSignal): Promise<readonly FoundSession[]>;
  /** Makes the search index anew from the messages. */
  rebuildSearch(signal: AbortSignal): Promise<void>;
  readonly deleteSession: DeleteSession;
  /** Every damage found, the search index included; none means sound. Blocks while it reads. */
  checkIntegrity(): Promise<readonly string[]>;
}

export interface SessionStoreOptions {
  readonly clock?: Clock;
  readonly times?: TurnTimes;
  readonly busyDeadlineMs?: number;
}

/** Opens the store, made and migrated as needed. */
export async function openSessionStore(
  path: string,
  { clock = systemClock, times = TURN_TIMES, ...rest }: SessionStoreOptions,
  signal: AbortSignal,
): Promise<SessionStore> {
  const database = await openDatabase(
    path,
    { migrations: sessionMigrations, synchronous: "NORMAL", clock, ...rest },
    signal,
  );
  const prefixes = createPrefixStore(database);
  const index = createSearchIndex(database);
  const load = createSessionLoader(database, prefixes);
  const list = createSessionList(database);
  const leases = createLeases(database);
  const turnParts = {
    database,
    leases,
    recorder: createEventRecorder(database, prefixes),
    times,
    // Indexing turn by turn keeps the first search after a long time short; what is left, that search adds.
    afterwards: (signal: AbortSignal) => index.refresh(signal, 1),
  };

  return {
    list,
    usage: createSessionUsage(database),
    createSession(session) {
      let id = createSessionId(clock.now());
      while (list.find(id) !== undefined) id = createSessionId(clock.now());
      return { ...session, id };
    },
    loadSession(id) {
      const loaded = load(id);
      if (loaded === undefined) throw new AppError("session-not-found", `There is no session ${id}.`);
      return loaded;
    },
    acquireTurn: (session, identity, signal) => acquireTurn(turnParts, session, identity, signal),
    search: createSessionSearch(database, index),
    rebuildSearch: (signal) => index.rebuild(signal),
    deleteSession: createSessionDeleter(database, leases, index),
    checkIntegrity: async () => [
      ...checkIntegrity(database),
      ...(await checkSchema(database, sessionMigrations)),
    ],
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}
