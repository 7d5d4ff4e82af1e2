import type { Database } from "../../lib/sqlite/database.ts";
import { runReadTransaction } from "../../lib/sqlite/read-transaction.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "../rows/session-rows.ts";
import type { SessionSummary } from "../session.ts";
import { createTag, extractTexts } from "./indexed-text.ts";
import { createTrigramExpression, createWordExpression, parseQuery, type Term } from "./parse-query.ts";
import type { SearchIndex } from "./search-index.ts";
import { createSnippet, excerptOf, type Marks } from "./snippet.ts";

export type SearchRole = "user" | "assistant" | "tool";

export interface SearchQuery {
  readonly text: string;
  readonly limit: number;
  readonly order: "best" | "newest";
  readonly roles?: readonly SearchRole[] | undefined;
  readonly sources?: readonly string[] | undefined;
  /** Only messages of turns that started at or after this time, in milliseconds. */
  readonly since?: number | undefined;
  readonly marks?: Marks | undefined;
  /** The session whose model searches. Messages that this model still gets are skipped; compacted ones are found. */
  readonly searcher?: string | undefined;
}

export interface SearchContext {
  readonly role: SearchRole;
  readonly text: string;
}

export interface SearchHit {
  readonly role: SearchRole;
  /** Whether the user has undone the turn of the message. */
  readonly isUndone: boolean;
  readonly createdAt: number;
  /** The turn of the message. */
  readonly turnId: string;
  readonly snippet: string;
  /** Whether a summary has replaced the message for the model. */
  readonly compacted: boolean;
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
// Several matches may be in one session, most often the newest; fetching more rows is cheaper than a second query.
const OVERFETCH = { best: 5, newest: 100 };
const MAX_MATCHES = 20_000; // beyond this, the sessions found so far are returned
const MESSAGE = "select turn_key, position, role, created_at, body from message";
const MARKS: Marks = { open: ">>>", close: "<<<" };

/** Searches all messages for whole words; if nothing is found, for parts of words. */
export function createSessionSearch(
  database: Database,
  index: SearchIndex,
): (query: SearchQuery, signal: AbortSignal) => Promise<readonly FoundSession[]> {
  const firstSince = database.prepare<{ key: number | null }>(`
    select min(message.key) as key from message
     where turn_key = (select key from turn where started_at >= ? order by started_at, key limit 1)`);
  // The original of a copied message is found as well, so the copy is skipped.
  const findSession = database.prepare<{ key: number; id: string }>(`
    select session.key, session.id from message join turn on turn.key = message.turn_key
      join session on session.key = turn.session_key where message.key = ? and turn.origin_key is null`);
  const findCompaction = database.prepare(`
    select 1 from message join turn on turn.key = message.turn_key
      join compaction on compaction.session_key = turn.session_key
     where message.key = :key and compaction.from_key > :key limit 1`);
  const isCompacted = (key: number): boolean => findCompaction.get({ key }) !== undefined;
  const describeSession = database.prepare<SummaryRow>(`
    select ${SUMMARY_COLUMNS} from session left join session as parent on parent.key = session.parent_key
     where session.key = ?`);
  const findMessage = database.prepare<MessageRow>(`${MESSAGE} where key = ?`);
  const findTurn = database.prepare<{ id: string; undone_at: number | null }>(
    "select id, undone_at from turn where key = ?",
  );
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
    const rows = statement.all({ expression: addFilters(expression, query), since, limit });
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
      const groups = group(keys, query);
      if (groups.size < query.limit && keys.length === limit && limit < MAX_MATCHES) continue;
      return [...groups].flatMap(([key, keys]) => {
        const row = describeSession.get(key);
        const hits = keys.flatMap((key) => hit(key, terms, query.marks ?? MARKS));
        return row === undefined ? [] : [{ session: toSummary(row), hits }];
      });
    }
  }

  /** Groups matches by session, in the order of the first match, with the first few message keys of each session. */
  function group(keys: readonly number[], { limit, searcher }: SearchQuery): Map<number, number[]> {
    const groups = new Map<number, number[]>();
    for (const key of keys) {
      const { key: session, id } = findSession.get(key) ?? {};
      if (session === undefined || (id === searcher && !isCompacted(key))) continue;
      const known = groups.get(session);
      if (known === undefined) {
        if (groups.size < limit) groups.set(session, [key]);
      } else if (known.length < HITS_PER_SESSION) known.push(key);
    }
    return groups;
  }

  function hit(key: number, terms: readonly Term[], marks: Marks): SearchHit[] {
    const row = findMessage.get(key);
    const turn = row && findTurn.get(row.turn_key);
    if (row === undefined || turn === undefined) return [];
    return [
      {
        role: row.role,
        isUndone: turn.undone_at !== null,
        createdAt: row.created_at,
        turnId: turn.id,
        snippet: createSnippet(readableText(row), terms, marks),
        compacted: isCompacted(key),
        before: neighbours.before(row),
        after: neighbours.after(row),
      },
    ];
  }

  return (query, signal) => {
    const terms = parseQuery(query.text);
    const words = createWordExpression(terms);
    const parts = createTrigramExpression(terms);
    return index.read(
      () =>
        runReadTransaction(database, () => {
          const found = words === undefined ? [] : search(terms, "message_words", words, query);
          if (found.length > 0 || parts === undefined) return found;
          return search(terms, "message_trigrams", parts, query);
        }),
      signal,
    );
  };
}

function addFilters(expression: string, { roles = [], sources = [] }: SearchQuery): string {
  const tags = [
    roles.map((role) => createTag("role", role)),
    sources.map((source) => createTag("source", source)),
  ].filter((list) => list.length > 0);
  const filters = tags.map((list) => ` AND tags : (${list.map((tag) => `"${tag}"`).join(" OR ")})`);
  return `text : (${expression})${filters.join("")}`;
}

function readableText({ role, body }: MessageRow): string {
  const { spoken, done } = extractTexts(role, body);
  return [spoken, done].filter((text) => text !== "").join(" ");
}

/** Finds the adjacent message, in the same turn or in the adjacent turn. */
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
    return found && { role: found.role, text: excerptOf(readableText(found), CONTEXT_LENGTH) };
  };
}
