import { systemClock } from "../../../lib/time/clock.ts";
import type { Session } from "../../contract/sessions.ts";
import type { DashboardData } from "../../dashboard/dashboard-parts.ts";
import { type SessionSource, toSession } from "../../dashboard/routes/sessions/session-view.ts";
import type { LiveSink, LiveSource } from "../live-source.ts";

/** The shortest time between two checks; with it, events of any process are seen within about a second. */
const PAUSE_MS = 700;
/** The longest time between two checks, to notice new profiles and turns that end without a message. */
const RECHECK_MS = 15_000;
/** How many of the newest sessions are compared; they are the first ones of the list. */
const COMPARED = 50;

/** Publishes changed sessions, whichever process changed them, and which of them have longer turns. */
export function createSessionSource(data: DashboardData): LiveSource {
  return {
    kind: "always",
    async open(_name, sink, signal) {
      const end = new AbortController();
      const changes = await data.changes.watch(signal);
      const seen = new Map<string, Seen>();
      try {
        for (const source of await data.profiles.knownSessions())
          seen.set(source.profile, (await readProfile(source, undefined, signal)).seen);
      } catch (error) {
        await changes[Symbol.asyncDispose]();
        throw error;
      }
      const ended = followSessions(data, { changes, seen, sink }, end.signal).catch((error: unknown) => {
        if (!end.signal.aborted) sink.fail(error);
      });
      return {
        async [Symbol.asyncDispose]() {
          end.abort();
          await ended;
          await changes[Symbol.asyncDispose]();
        },
      };
    },
  };
}

interface Seen {
  readonly lastMessage: number;
  /** The last known state of each compared session. */
  readonly sessions: ReadonlyMap<string, Known>;
}

interface Known {
  /** The fields that the list contains anyway. The rest is read only if they differ. */
  readonly summary: string;
  readonly isRunning: boolean;
}

interface Following {
  readonly changes: Awaited<ReturnType<DashboardData["changes"]["watch"]>>;
  /** The last known state of each profile; a new profile is missing. */
  readonly seen: Map<string, Seen>;
  readonly sink: LiveSink;
}

const NOTHING: Seen = { lastMessage: 0, sessions: new Map() };

async function followSessions(
  data: DashboardData,
  { changes, seen, sink }: Following,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await changes.next(RECHECK_MS, signal);
    await systemClock.sleep(PAUSE_MS, signal);
    for (const source of await data.profiles.knownSessions()) {
      const { profile } = source;
      const {
        seen: now,
        sessions,
        gone,
        turns,
      } = await readProfile(source, seen.get(profile) ?? NOTHING, signal);
      seen.set(profile, now);
      if (sessions.length + gone.length + turns.length > 0)
        sink.publish("session-change", { profile, sessions, gone, turns });
    }
  }
}

async function readProfile(source: SessionSource, before: Seen | undefined, signal: AbortSignal) {
  const { store } = source;
  const changes = store.changes();
  const lastMessage = changes.lastMessage();
  const grown = before === undefined ? [] : changes.turnsAfter(before.lastMessage);
  const hasGrown = new Set(grown.map(({ sessionId }) => sessionId));
  const known = new Map<string, Known>();
  const changed: Session[] = [];
  for (const session of store.list.list({ limit: COMPARED })) {
    const { id } = session;
    const summary = JSON.stringify(session);
    const old = before?.sessions.get(id);
    const isRunning = await store.isTurnRunning(id, signal);
    known.set(id, { summary, isRunning });
    const isSame = old?.summary === summary && old.isRunning === isRunning && !hasGrown.has(id);
    if (before !== undefined && !isSame) changed.push(await toSession(source, session, signal));
  }
  const gone = [...(before?.sessions.keys() ?? [])].filter(
    (id) => !known.has(id) && store.list.find(id) === undefined,
  );
  const turns = grown.map(({ sessionId, turnId }) => ({ session: sessionId, turn: turnId }));
  return { seen: { lastMessage, sessions: known }, sessions: changed, gone, turns };
}
