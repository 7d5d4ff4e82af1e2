import { AppError, errnoOf } from "../lib/errors.ts";
import type { Database } from "../lib/sqlite/database.ts";
import { headOf } from "../lib/text/shorten.ts";
import { createTitleNumberer, LATEST, parseTitle } from "./changes/session-title.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "./rows/session-rows.ts";
import type { SessionSummary } from "./session.ts";

export interface ListFilter {
  /** Only these sources; empty means all. */
  readonly sources?: readonly string[];
  readonly without?: readonly string[];
  readonly cwd?: string | undefined;
  /** Only archived sessions, or only the others; undefined means both. */
  readonly archived?: boolean | undefined;
  /** Only sessions that were used at or after this time, in milliseconds. */
  readonly since?: number | undefined;
  /** Only sessions after the last one of the previous page. */
  readonly after?: { readonly activeAt: number; readonly id: string } | undefined;
  readonly limit: number;
}

export interface ListedSession extends SessionSummary {
  readonly messages: number;
  /** The start of the user's first message, without secrets. */
  readonly opening: string;
}

type FamilyRow = SummaryRow & { readonly turns: number };

export interface SessionCounts {
  readonly sessions: number;
  readonly archived: number;
  readonly turns: number;
}

/** How much a session has done so far. */
export interface SessionProgress {
  /** Turns that were not undone. */
  readonly turns: number;
  /** Calls that have ended, including those of undone turns. */
  readonly calls: number;
}

export interface PruneFilter {
  /** Only sessions that were last used before this time, in milliseconds. */
  readonly before: number;
  /** Only these sources; empty means all. */
  readonly sources: readonly string[];
  /** Whether archived sessions are included. */
  readonly archived: boolean;
}

/** An ended session and the size of its messages. */
export interface PrunableSession extends SessionSummary {
  readonly bytes: number;
}

export interface FamilyMember extends SessionSummary {
  readonly turns: number;
}

export type SessionList = ReturnType<typeof createSessionList>;

const FROM = "from session left join session as parent on parent.key = session.parent_key";
const OPENING_LENGTH = 200;
const READ_LENGTH = 20_000; // longer than a key that begins in the opening
const TREE_COLUMNS = `${SUMMARY_COLUMNS}, (select count(*) from turn
  where session_key = session.key and undone_at is null) as turns`;

/** Lists are bound as JSON, so that one statement serves every filter. */
const FILTER = `where (:sources is null or session.source in (select value from json_each(:sources)))
      and session.source not in (select value from json_each(:without))
      and (:cwd is null or session.cwd = :cwd)
      and (:archived is null or (session.archived_at is not null) = :archived)
      and session.active_at >= :since`;
/** The keys of sessions follow the order of their creation, which breaks ties. */
const AFTER = `and (:afterTime is null or session.active_at < :afterTime
      or (session.active_at = :afterTime and session.key < (select key from session where id = :afterId)))`;

export const LIST_SQL = {
  list: `select ${SUMMARY_COLUMNS} ${FROM} ${FILTER} ${AFTER}
    order by session.active_at desc, session.key desc limit :limit`,
  prefix: `select ${SUMMARY_COLUMNS} ${FROM}
    where session.id >= :prefix and session.id < :prefix || '~' order by session.id desc limit :limit`,
  title: `select ${SUMMARY_COLUMNS} ${FROM} where session.title = ?`,
  family: `with recursive up (key, parent_key) as (
      select key, parent_key from session where id = ?
      union select session.key, session.parent_key from session join up on session.key = up.parent_key),
    down (key) as (
      select key from up where parent_key is null
      union select session.key from session join down on session.parent_key = down.key)
    select ${TREE_COLUMNS} ${FROM} where session.key in (select key from down) order by session.key`,
  prunable: `select ${SUMMARY_COLUMNS}, (select coalesce(sum(octet_length(body)), 0)
      from turn join message on message.turn_key = turn.key where turn.session_key = session.key) as bytes ${FROM}
    where session.active_at < :before and (:archived or session.archived_at is null)
      and (:sources is null or session.source in (select value from json_each(:sources)))
      and not exists (select 1 from turn where session_key = session.key and outcome is null)
    order by session.active_at, session.key`,
  families: `select ${TREE_COLUMNS} ${FROM}
    where session.parent_key is not null
       or exists (select 1 from session as child where child.parent_key = session.key) order by session.key`,
};

/** Lists, finds and names sessions. */
export function createSessionList(database: Database) {
  const list = database.prepare<SummaryRow>(LIST_SQL.list);
  const countFiltered = database.prepare<{ sessions: number }>(
    `select count(*) as sessions from session ${FILTER}`,
  );
  const find = database.prepare<SummaryRow>(`select ${SUMMARY_COLUMNS} ${FROM} where session.id = ?`);
  const findByPrefix = database.prepare<SummaryRow>(LIST_SQL.prefix);
  const findByTitle = database.prepare<SummaryRow>(LIST_SQL.title);
  const count = database.prepare<{ messages: number }>(`
    select count(*) as messages from session join turn on turn.session_key = session.key
      join message on message.turn_key = turn.key where session.id = ? and undone_at is null`);
  const opening = database.prepare<{ text: string | null }>(`
    select (select substr(value ->> 'text', 1, ${READ_LENGTH}) from json_each(iif(json_valid(message.body), message.body, '[]'))
             where value ->> 'type' = 'text' limit 1) as text
      from session join turn on turn.session_key = session.key join message on message.turn_key = turn.key
     where session.id = ? and undone_at is null order by turn.key, position limit 1`);
  const progress = database.prepare<SessionProgress>(`
    select (select count(*) from turn where session_key = session.key and undone_at is null) as turns,
           (select count(*) from tool_call where session_key = session.key and state = 'ended') as calls
      from session where id = ?`);
  const setTitle = database.prepare("update session set title = :title where id = :id");
  const setFirstTitle = database.prepare(
    "update session set title = :title where id = :id and title is null",
  );
  const freeTitle = createTitleNumberer(database);
  const findTitleHolder = database.prepare<{ id: string }>("select id from session where title = ?");

  return {
    /** The most recently used first. */
    list: ({ limit, after, ...filter }: ListFilter): readonly SessionSummary[] =>
      list
        .all({
          ...{ ...bind(filter), limit },
          afterTime: after?.activeAt ?? null,
          afterId: after?.id ?? null,
        })
        .map(toSummary),
    /** The sources of all sessions, in alphabetical order. */
    sources: (): readonly string[] =>
      database
        .prepare<{ source: string }>("select distinct source from session order by source")
        .all()
        .map(({ source }) => source),
    countMatching: (filter: Omit<ListFilter, "limit" | "after">): number =>
      countFiltered.get(bind(filter))?.sessions ?? 0,
    describe: (session: SessionSummary, redact: (text: string) => string): ListedSession => ({
      ...session,
      messages: count.get(session.id)?.messages ?? 0,
      opening: headOf(redact(opening.get(session.id)?.text ?? ""), OPENING_LENGTH),
    }),
    progress: (id: string): SessionProgress => progress.get(id) ?? { turns: 0, calls: 0 },
    find(id: string): SessionSummary | undefined {
      const row = find.get(id);
      return row === undefined ? undefined : toSummary(row);
    },
    /** Sessions whose id starts with `prefix`, newest first, at most `limit`. */
    findByPrefix: (prefix: string, limit: number): readonly SessionSummary[] =>
      findByPrefix.all({ prefix, limit }).map(toSummary),
    findByTitle(title: string): SessionSummary | undefined {
      const row = findByTitle.get(title);
      return row === undefined ? undefined : toSummary(row);
    },
    /** The session, its ancestors and all their descendants, oldest first. */
    family: (id: string): readonly FamilyMember[] =>
      database.prepare<FamilyRow>(LIST_SQL.family).all(id).map(toSummary),
    /** All sessions with a parent or a child, oldest first. */
    families: (): readonly FamilyMember[] =>
      database.prepare<FamilyRow>(LIST_SQL.families).all().map(toSummary),
    count(): SessionCounts {
      const sql = `select count(*) as sessions, count(archived_at) as archived,
        (select count(*) from turn where undone_at is null) as turns from session`;
      const found = database.prepare<SessionCounts>(sql).get();
      if (found === undefined) throw new Error("a count returned no row");
      return found;
    },
    /** Sessions whose last turn has ended, oldest first. */
    prunable: ({ before, sources, archived }: PruneFilter): readonly PrunableSession[] =>
      database
        .prepare<SummaryRow & { readonly bytes: number }>(LIST_SQL.prunable)
        .all({
          before,
          sources: sources.length === 0 ? null : JSON.stringify(sources),
          archived: Number(archived),
        })
        .map(toSummary),
    /** Sets or replaces the title and returns it as stored; refuses a title that another session has. */
    async rename(id: string, text: string, signal: AbortSignal): Promise<string> {
      const title = parseTitle(text);
      if (title.toLowerCase() === LATEST)
        throw new AppError(
          "session-title-invalid",
          `"${title}" cannot be a title: it means the latest session.`,
        );
      try {
        const changed = await database.write(() => setTitle.run({ id, title }).changes, signal);
        if (changed === 0) throw new AppError("session-not-found", `There is no session ${id}.`);
        return title;
      } catch (error) {
        if (errnoOf(error) !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
        const holder = findTitleHolder.get(title)?.id ?? "another one";
        const message = `The title "${title}" is already used by session ${holder}.`;
        throw new AppError("session-title-taken", message, { cause: error });
      }
    },
    /** Sets a title, numbered if it is taken; returns false if the session already has a title. */
    suggestTitle(id: string, text: string, signal: AbortSignal): Promise<boolean> {
      const title = parseTitle(text);
      return database.write(() => setFirstTitle.run({ id, title: freeTitle(title) }).changes === 1, signal);
    },
    /** Replaces the title, with a number if it is taken. */
    async retitle(id: string, text: string, signal: AbortSignal): Promise<void> {
      const title = parseTitle(text);
      await database.write(() => {
        setTitle.run({ id, title: null });
        setTitle.run({ id, title: freeTitle(title) });
      }, signal);
    },
  };
}

function bind({ sources = [], without = [], cwd, archived, since = 0 }: Omit<ListFilter, "limit" | "after">) {
  return {
    sources: sources.length === 0 ? null : JSON.stringify(sources),
    without: JSON.stringify(without),
    cwd: cwd ?? null,
    archived: archived === undefined ? null : Number(archived),
    since,
  };
}
