import {
  type InfiniteData,
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
} from "@tanstack/react-query";
import type {
  Session,
  SessionChange,
  SessionsAnswer,
  ShownSession,
  TurnsAnswer,
} from "../../../src/api/contract/sessions.ts";
import type { Api } from "../data/api.ts";
import type { SessionFilter } from "./session-filter.ts";

type SessionPages = InfiniteData<SessionsAnswer, unknown>;
type TurnPages = InfiniteData<TurnsAnswer, unknown>;

const profilePath = (profile: string): string => `profiles/${encodeURIComponent(profile)}/sessions`;

/** The path of one session below `api/`. */
export const sessionPath = (profile: string, id: string): string =>
  `${profilePath(profile)}/${encodeURIComponent(id)}`;

const SPAN_MS = { day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 } as const;

export const sessionsQuery = (api: Api, profile: string, filter: SessionFilter) =>
  infiniteQueryOptions({
    queryKey: ["sessions", profile, filter],
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }: SessionsAnswer) => next,
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams();
      if (filter.q) query.set("q", filter.q);
      if (filter.q && filter.order) query.set("order", filter.order);
      if (filter.source) query.set("source", filter.source);
      if (filter.since) query.set("since", String(Date.now() - SPAN_MS[filter.since]));
      if (pageParam !== null) query.set("after", pageParam);
      return api.get<SessionsAnswer>(`${profilePath(profile)}?${query}`, signal);
    },
  });

export const sessionQuery = (api: Api, profile: string, id: string) =>
  queryOptions({
    queryKey: ["session", profile, id],
    queryFn: ({ signal }) => api.get<ShownSession>(sessionPath(profile, id), signal),
  });

/** The newest turns first; each further page has the turns before the last loaded one. */
export const turnsQuery = (api: Api, profile: string, id: string) =>
  infiniteQueryOptions({
    queryKey: ["turns", profile, id],
    initialPageParam: null as string | null,
    getNextPageParam: ({ before }: TurnsAnswer) => before,
    queryFn: ({ pageParam, signal }) => {
      const query = pageParam === null ? "" : `?before=${encodeURIComponent(pageParam)}`;
      return api.get<TurnsAnswer>(`${sessionPath(profile, id)}/turns${query}`, signal);
    },
  });

/** The sources of sessions that programs start; the list omits them (`INTERNAL_SOURCES` in src/sessions/session.ts). */
const HIDDEN: ReadonlySet<string> = new Set(["kanban", "subagent", "tool"]);

/** Applies a change to the list: a used session moves to the top, the others stay in place. */
export function changeList(old: SessionPages | undefined, change: SessionChange): SessionPages | undefined {
  const [first, ...rest] = old?.pages ?? [];
  if (old === undefined || first === undefined) return old;
  const listed = change.sessions.filter(
    ({ source, archivedAt }) => !HIDDEN.has(source) && archivedAt === null,
  );
  const archived = change.sessions.filter(({ archivedAt }) => archivedAt !== null).map(({ id }) => id);
  const gone = new Set([...change.gone, ...archived]);
  const changed = new Map(listed.map((session) => [session.id, session]));
  const newest = (first.sessions[0]?.activeAt ?? 0) - 1;
  const known = new Set(old.pages.flatMap(({ sessions }) => sessions.map(({ id }) => id)));
  const isMoved = (session: Session | undefined): boolean => (session?.activeAt ?? 0) > newest;
  const update = (page: SessionsAnswer): SessionsAnswer => ({
    ...page,
    sessions: page.sessions
      .filter(({ id }) => !gone.has(id) && !isMoved(changed.get(id)))
      .map((session) => ({ ...session, ...changed.get(session.id) })),
  });
  const top = listed
    .filter(isMoved)
    .toSorted((one, other) => other.activeAt - one.activeAt)
    .map((session) => ({ ...session, hits: [] }));
  const added = top.filter(({ id, createdAt }) => !known.has(id) && createdAt > newest).length;
  const removed = [...gone].filter((id) => known.has(id)).length;
  const pages = [first, ...rest].map(update).map((page, index) =>
    index > 0
      ? page
      : {
          ...page,
          sessions: [...top, ...page.sessions],
          count: page.count === null ? null : page.count + added - removed,
        },
  );
  return { ...old, pages };
}

/** Replaces the end of the turns; older ones stay loaded. */
export function replaceEnd(old: TurnPages | undefined, end: TurnsAnswer): TurnPages | undefined {
  if (old === undefined) return old;
  const fresh = new Map(end.turns.map((turn) => [turn.id, turn]));
  const pages = old.pages.map((page, index) => ({
    ...page,
    turns: [
      ...page.turns.map((turn) => fresh.get(turn.id) ?? turn),
      ...(index === 0
        ? end.turns.filter(({ id }) => !old.pages.some(({ turns }) => turns.some((turn) => turn.id === id)))
        : []),
    ],
  }));
  return { ...old, pages };
}
