import type { Database } from "../../lib/database.ts";
import { readTogether } from "../read-together.ts";
import type { SessionSummary } from "../session.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "../session-rows.ts";
import { tagOf, textsOf } from "./indexed-text.ts";
import { parseQuery, partExpression, type Term, wordExpression } from "./parse-query.ts";
import type { SearchIndex } from "./search-index.ts";
import { excerpt, type Marks, makeSnippet } from "./snippet.ts";

export type SearchRole = "user" | "assistant" | "tool";

export interface SearchQuery {
  readonly text: string;
  /** How many sessions at most. */
  readonly limit: number;
  readonly order: "best" | "newest";
  readonly roles?: readonly SearchRole[] | undefined;
  readonly sources?: readonly string[] | undefined;
  /** Only messages of turns that began at or after this time, in milliseconds. */
  readonly since?: number | undefined;
  readonly marks?: Marks | undefined;
}

export interface SearchContext {
  readonly role: SearchRole;
  readonly text: string;
}

export interface SearchHit {
  readonly role: SearchRole;
  readonly createdAt: number;
  readonly snippet: string;
  readonly before: SearchContext | undefined;
  readonly after: SearchContext | undefined;
}

export interface FoundSession {
  readonly session: SessionSummary;
  readonly hits: readonly SearchHit[];
}

interface MessageRow {
  readonly turn_key: number;
  readonly position: number;
  readonly role: SearchRole;
  readonly created_at: number;
  readonly body: string;
}

const HITS_PER_SESSION = 3;
const CONTEXT_LENGTH = 200;
// Several matches share a session, and the newest ones most of all; asking again would cost more than these rows.
const OVERFETCH = { best: 5, newest: 100 };
const MOST_MATCHES = 20_000; // where even so many are of few sessions, those few are the answer
const MESSAGE = "select turn_key, position, role, created_at, body from message";
const MARKS: Marks = { open: ">>>", close: "<<<" };

/** Searches all messages; where no whole word fits, parts of words do. */
export function createSessionSearch(
  database: Database,
  index: SearchIndex,
): (query: SearchQuery, signal: AbortSignal) => Promise<readonly FoundSession[]> {
  const firstSince = database.prepare<{ key: number | null }>(`
    select min(message.key) as key from message
     where turn_key = (select key from turn where started_at >= ? order by started_at, key limit 1)`);
  const findSession = database.prepare<{ key: number }>(
    "select turn.session_key as key from message join turn on turn.key = message.turn_key where message.key = ?",
  );
  const describeSession = database.prepare<SummaryRow>(`
    select ${SUMMARY_COLUMNS} from session left join session as parent on parent.key = session.parent_key
     where session.key = ?`);
  const findMessage = database.prepare<MessageRow>(`${MESSAGE} where key = ?`);
  const neighbours = {
    before: createNeighbour(database, { turn: "max(key)", beyond: "<", order: "desc" }),
    after: createNeighbour(database, { turn: "min(key)", beyond: ">", order: "asc" }),
  };

  function matches(table: string, expression: string, query: SearchQuery, limit: number): number[] {
    const order = query.order === "best" ? "rank" : "rowid desc";
    const since = query.since === undefined ? 0 : firstSince.get(query.since)?.key;
    if (since === undefined || since === null) return [];
    const statement = database.prepare<{ rowid: number }>(
      `select rowid from ${table} where ${table} match :expression and rowid >= :since order by ${order} limit :limit`,
    );
    const rows = statement.all({ expression: filtered(expression, query), since, limit });
    return rows.map(({ rowid }) => rowid);
  }

  function search(
    terms: readonly Term[],
    table: string,
    expression: string,
    query: SearchQuery,
  ): FoundSession[] {
    for (let limit = query.limit * OVERFETCH[query.order]; ; limit *= 8) {
      const keys = matches(table, expression, query, limit);
      const groups = group(keys, query.limit);
      if (groups.size < query.limit && keys.length === limit && limit < MOST_MATCHES) continue;
      return [...groups].flatMap(([key, keys]) => {
        const row = describeSession.get(key);
        const hits = keys.flatMap((key) => hit(key, terms, query.marks ?? MARKS));
        return row === undefined ? [] : [{ session: toSummary(row), hits }];
      });
    }
  }

  /** The first sessions in the order of their first match, each with the keys of its first few. */
  function group(keys: readonly number[], limit: number): Map<number, number[]> {
    const groups = new Map<number, number[]>();
    for (const key of keys) {
      const session = findSession.get(key)?.key;
      if (session === undefined) continue;
      const known = groups.get(session);
      if (known === undefined) {
        if (groups.size < limit) groups.set(session, [key]);
      } else if (known.length < HITS_PER_SESSION) known.push(key);
    }
    return groups;
  }

  function hit(key: number, terms: readonly Term[], marks: Marks): SearchHit[] {
    const row = findMessage.get(key);
    if (row === undefined) return [];
    return [
      {
        role: row.role,
        createdAt: row.created_at,
        snippet: makeSnippet(readable(row), terms, marks),
        before: neighbours.before(row),
        after: neighbours.after(row),
      },
    ];
  }

  return (query, signal) => {
    const terms = parseQuery(query.text);
    const words = wordExpression(terms);
    const parts = partExpression(terms);
    return index.read(
      () =>
        readTogether(database, () => {
          const found = words === undefined ? [] : search(terms, "message_words", words, query);
          if (found.length > 0 || parts === undefined) return found;
          return search(terms, "message_trigrams", parts, query);
        }),
      signal,
    );
  };
}

function filtered(expression: string, { roles = [], sources = [] }: SearchQuery): string {
  const tags = [
    roles.map((role) => tagOf("role", role)),
    sources.map((source) => tagOf("source", source)),
  ].filter((list) => list.length > 0);
  const filters = tags.map((list) => ` AND tags : (${list.map((tag) => `"${tag}"`).join(" OR ")})`);
  return `text : (${expression})${filters.join("")}`;
}

function readable({ role, body }: MessageRow): string {
  const { spoken, done } = textsOf(role, body);
  return [spoken, done].filter((text) => text !== "").join(" ");
}

/** Finds the message next to another one, in its own turn or the one beside it. */
function createNeighbour(
  database: Database,
  { turn, beyond, order }: { turn: string; beyond: string; order: string },
): (row: MessageRow) => SearchContext | undefined {
  const inTurn = database.prepare<MessageRow>(
    `${MESSAGE} where turn_key = ? and position ${beyond} ? order by position ${order} limit 1`,
  );
  const beyondTurn = database.prepare<MessageRow>(`${MESSAGE} where turn_key = (
    select ${turn} from turn where session_key = (select session_key from turn where key = :key) and key ${beyond} :key)
    order by position ${order} limit 1`);
  return (row) => {
    const found = inTurn.get(row.turn_key, row.position) ?? beyondTurn.get({ key: row.turn_key });
    return found && { role: found.role, text: excerpt(readable(found), CONTEXT_LENGTH) };
  };
}
