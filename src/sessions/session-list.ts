import type { Database } from "../lib/database.ts";
import { AppError, errnoOf } from "../lib/errors.ts";
import type { SessionSummary } from "./session.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "./session-rows.ts";
import { createFreeTitle, parseTitle } from "./session-title.ts";

export interface ListFilter {
  /** Only these sources; all when empty. */
  readonly sources?: readonly string[];
  /** None of these. */
  readonly without?: readonly string[];
  readonly cwd?: string | undefined;
  readonly limit: number;
}

export interface ListedSession extends SessionSummary {
  readonly messages: number;
  /** How the first text of the first message begins, which is a person's. */
  readonly opening: string;
}

/** The sessions as rows of a list, their names included. */
export interface SessionList {
  /** The most recently used first. */
  list(filter: ListFilter): readonly SessionSummary[];
  describe(session: SessionSummary): ListedSession;
  find(id: string): SessionSummary | undefined;
  /** Those whose id begins so, newest first, at most `limit`. */
  findByPrefix(prefix: string, limit: number): readonly SessionSummary[];
  /** Those called `title`, `title #2`, `title #3`…, newest first. */
  findByTitle(title: string): readonly SessionSummary[];
  /** Gives a title, replacing the old one; refuses one that another session has. Returns it as stored. */
  rename(id: string, title: string, signal: AbortSignal): Promise<string>;
  /** Gives a title unless there is one, numbered if others have it; false when a person was first. */
  suggestTitle(id: string, title: string, signal: AbortSignal): Promise<boolean>;
}

const FROM = "from session left join session as parent on parent.key = session.parent_key";
const OPENING_LENGTH = 200;

export const LIST_SQL = {
  // Lists go in as JSON, so that one statement serves every filter.
  list: `select ${SUMMARY_COLUMNS} ${FROM}
    where (:sources is null or session.source in (select value from json_each(:sources)))
      and session.source not in (select value from json_each(:without))
      and (:cwd is null or session.cwd = :cwd)
    order by session.active_at desc, session.key desc limit :limit`,
  prefix: `select ${SUMMARY_COLUMNS} ${FROM}
    where session.id >= :prefix and session.id < :prefix || '~' order by session.id desc limit :limit`,
  title: `select ${SUMMARY_COLUMNS} ${FROM}
    where session.title = :title or (session.title > :title || ' #' and session.title < :title || ' #:')
    order by session.created_at desc, session.key desc`,
};

export function createSessionList(database: Database): SessionList {
  const list = database.prepare<SummaryRow>(LIST_SQL.list);
  const find = database.prepare<SummaryRow>(`select ${SUMMARY_COLUMNS} ${FROM} where session.id = ?`);
  const findByPrefix = database.prepare<SummaryRow>(LIST_SQL.prefix);
  const findByTitle = database.prepare<SummaryRow>(LIST_SQL.title);
  const count = database.prepare<{ messages: number }>(`
    select count(*) as messages from session join turn on turn.session_key = session.key
      join message on message.turn_key = turn.key where session.id = ?`);
  const opening = database.prepare<{ text: string | null }>(`
    select (select substr(value ->> 'text', 1, ${OPENING_LENGTH}) from json_each(message.body)
             where value ->> 'type' = 'text' limit 1) as text
      from session join turn on turn.session_key = session.key join message on message.turn_key = turn.key
     where session.id = ? order by turn.key, position limit 1`);
  const setTitle = database.prepare("update session set title = :title where id = :id");
  const setFirstTitle = database.prepare(
    "update session set title = :title where id = :id and title is null",
  );
  const freeTitle = createFreeTitle(database);
  const isTaken = database.prepare<{ id: string }>("select id from session where title = ?");

  const byTitle = (title: string): SessionSummary[] =>
    findByTitle
      .all({ title })
      .map(toSummary)
      .filter((row) => isLineage(row.title ?? "", title));

  return {
    list: ({ sources = [], without = [], cwd, limit }) =>
      list
        .all({
          sources: sources.length === 0 ? null : JSON.stringify(sources),
          without: JSON.stringify(without),
          cwd: cwd ?? null,
          limit,
        })
        .map(toSummary),
    describe: (session) => ({
      ...session,
      messages: count.get(session.id)?.messages ?? 0,
      opening: opening.get(session.id)?.text ?? "",
    }),
    find(id) {
      const row = find.get(id);
      return row === undefined ? undefined : toSummary(row);
    },
    findByPrefix: (prefix, limit) => findByPrefix.all({ prefix, limit }).map(toSummary),
    findByTitle: byTitle,
    async rename(id, text, signal) {
      const title = parseTitle(text);
      try {
        const changed = await database.write(() => setTitle.run({ id, title }).changes, signal);
        if (changed === 0) throw new AppError("session-not-found", `There is no session ${id}.`);
        return title;
      } catch (error) {
        if (errnoOf(error) !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
        const holder = isTaken.get(title)?.id ?? "another one";
        throw new AppError("session-title-taken", `The session ${holder} is called "${title}" already.`, {
          cause: error,
        });
      }
    },
    suggestTitle(id, text, signal) {
      const title = parseTitle(text);
      return database.write(() => setFirstTitle.run({ id, title: freeTitle(title) }).changes === 1, signal);
    },
  };
}

function isLineage(title: string, base: string): boolean {
  return title.length === base.length || /^ #\d+$/.test(title.slice(base.length));
}
