import { randomBytes } from "node:crypto";
import { createApprovalQueue } from "../approvals/approval-queue.ts";
import { createDecisionLog } from "../approvals/decision-log.ts";
import { AppError } from "../lib/errors.ts";
import type { ProcessIdentity } from "../lib/process/process-identity.ts";
import { checkIntegrity } from "../lib/sqlite/check-integrity.ts";
import { checkSchema } from "../lib/sqlite/check-schema.ts";
import { openDatabase } from "../lib/sqlite/database.ts";
import { createLeases } from "../lib/sqlite/lease.ts";
import { type Clock, systemClock } from "../lib/time/clock.ts";
import { createSessionDeleter } from "./changes/delete-session.ts";
import { createSessionLoader } from "./load-session.ts";
import { createEventRecorder } from "./record-event.ts";
import { createCallFinder, createResultFinder } from "./rows/find-call.ts";
import { createTurnFinder } from "./rows/find-turn.ts";
import { createGrownTurnReader } from "./rows/grown-turns.ts";
import { createPrefixStore } from "./rows/prefix-store.ts";
import { createSessionFacts } from "./rows/session-facts.ts";
import { createSessionRoutes } from "./rows/session-routes.ts";
import { createSessionUsage } from "./rows/session-usage.ts";
import { createUntrustedReader } from "./rows/untrusted-rows.ts";
import { createSearchIndex } from "./search/search-index.ts";
import { createSessionSearch } from "./search/search-sessions.ts";
import type { LoadedSession, NewSession, SessionDraft } from "./session.ts";
import { createSessionHistory } from "./session-history.ts";
import { createSessionList } from "./session-list.ts";
import { sessionMigrations } from "./session-migrations.ts";
import { acquireTurn, TURN_TIMES, type TurnTimes, turnLeaseName } from "./session-turn.ts";
import { createTurnReader } from "./transcript-turns.ts";

/** All conversations of one profile, shared with every process that has the file open. */
export type SessionStore = Awaited<ReturnType<typeof openSessionStore>>;

export interface SessionStoreOptions {
  readonly clock?: Clock;
  readonly times?: TurnTimes;
  readonly busyDeadlineMs?: number;
}

/** Opens the store; creates or migrates its file if necessary. */
export async function openSessionStore(
  path: string,
  { clock = systemClock, times = TURN_TIMES, ...rest }: SessionStoreOptions,
  signal: AbortSignal,
) {
  const database = await openDatabase(
    path,
    {
      migrations: sessionMigrations,
      synchronous: "NORMAL",
      isNeverEmpty: true,
      canShrink: true,
      clock,
      ...rest,
    },
    signal,
  );
  const prefixes = createPrefixStore(database);
  const index = createSearchIndex(database);
  const load = createSessionLoader(database, prefixes);
  const list = createSessionList(database);
  const leases = createLeases(database);
  const createId = (): string => {
    let id = createSessionId(clock.now());
    while (list.find(id) !== undefined) id = createSessionId(clock.now());
    return id;
  };
  const turnParts = {
    database,
    leases,
    recordEvent: createEventRecorder(database, prefixes),
    times,
    // Indexing after each turn keeps the next search short; that search indexes the remaining messages.
    afterTurn: (signal: AbortSignal) => index.refresh(signal, 1),
  };

  return {
    list,
    usage: createSessionUsage(database),
    routes: createSessionRoutes(database),
    /** Questions to a person. */
    approvals: createApprovalQueue(database),
    /** Why each call was or was not run. */
    decisions: createDecisionLog(database),
    /** Creates a session with a new id; nothing is stored before its first turn starts. */
    createSession: (session: NewSession): SessionDraft => ({ ...session, id: createId() }),
    /** Loads what the model gets; throws `session-not-found`. */
    loadSession(id: string): LoadedSession {
      const loaded = load(id);
      if (loaded === undefined) throw new AppError("session-not-found", `There is no session ${id}.`);
      return loaded;
    },
    /** Prepares its statements on use, because most processes only record. */
    history: () => createSessionHistory(database, leases, createId),
    /** The last successful result of a tool in a session, including compacted ones. */
    findLastResult: createResultFinder(database),
    isCallKnown: createCallFinder(database),
    /** Single facts of a session. Prepares its statements on use, because only the pages of runs need them. */
    facts: () => createSessionFacts(database),
    /** Reads a session turn by turn. Prepares its statements on use, because only pages need it. */
    turns: () => createTurnReader(database),
    /** The turns that got new messages. Prepares its statements on use, because only live pages need it. */
    changes: () => createGrownTurnReader(database),
    untrustedSources: createUntrustedReader(database),
    /** Prepares its statements on use, because only a gateway that recovers needs it. */
    findTurn: (turnId: string, since: number) => createTurnFinder(database)(turnId, since),
    /** Acquires the right to write to a session; throws `session-busy` while another process holds it. */
    acquireTurn: (session: string | SessionDraft, identity: ProcessIdentity, signal: AbortSignal) =>
      acquireTurn(turnParts, session, identity, signal),
    /** Whether a process is running a turn of the session. */
    isTurnRunning: (id: string, signal: AbortSignal) => leases.isHeld(turnLeaseName(id), signal),
    search: createSessionSearch(database, index),
    rebuildSearch: (signal: AbortSignal) => index.rebuild(signal),
    deleteSession: createSessionDeleter(database, leases, index),
    /** Makes the file smaller after sessions were deleted; false if it is too large for that. */
    async releaseSpace(signal: AbortSignal): Promise<boolean> {
      await index.compact(signal);
      return database.releaseSpace(signal);
    },
    /** Every problem found, including the search index; empty for an intact store. Blocks while it reads. */
    checkIntegrity: async (): Promise<readonly string[]> => [
      ...checkIntegrity(database),
      ...(await checkSchema(database, sessionMigrations)),
    ],
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

/** A new id that sorts by time: `YYYYMMDD_HHMMSS_<6 hex>`, in the local time of the machine. */
function createSessionId(now: number): string {
  const date = new Date(now);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const time = `${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
  return `${day}_${time}_${randomBytes(3).toString("hex")}`;
}
