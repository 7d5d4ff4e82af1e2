import type { Database } from "../../lib/database.ts";
import { AppError, errnoOf } from "../../lib/errors.ts";
import { indexedText } from "./indexed-text.ts";
import { CREATE_INDEXES } from "./search-schema.ts";

/**
 * The index over all messages. It follows the messages and is never in their way: recording does not touch it, a
 * search first adds what is missing, and one that is damaged is made anew from the messages.
 */
export interface SearchIndex {
  /** Adds messages that are not in it yet, in transactions of bounded size; at most `limit` of these. */
  refresh(signal: AbortSignal, limit?: number): Promise<void>;
  /** Throws the index away and makes it anew. */
  rebuild(signal: AbortSignal): Promise<void>;
  /** Reads through an index that is up to date, once more after a rebuild if it turns out to be damaged. */
  read<Result>(action: () => Result, signal: AbortSignal): Promise<Result>;
  /** One transaction that may remove messages; the index forgets them, or is made anew if it cannot. */
  change<Result>(
    action: (forget: (keys: readonly number[]) => void) => Result,
    signal: AbortSignal,
  ): Promise<Result>;
}

interface MessageRow {
  readonly key: number;
  readonly role: "user" | "assistant" | "tool";
  readonly source: string;
  readonly body: string;
}

const INDEXES = ["message_words", "message_trigrams"];
const BATCH_MESSAGES = 500;
const BATCH_CHARACTERS = 500_000; // a transaction blocks everybody else, so it ends after some 100 ms

export function createSearchIndex(database: Database): SearchIndex {
  const findState = database.prepare<{ through: number; last: number | null }>(`
    select indexed_through as through, (select max(key) from message) as last from search_state`);
  const listNew = database.prepare<MessageRow>(`
    select message.key, message.role, message.body, session.source
      from message join turn on turn.key = message.turn_key join session on session.key = turn.session_key
     where message.key > ? order by message.key limit ${BATCH_MESSAGES}`);
  const advance = database.prepare("update search_state set indexed_through = ?");

  /** Prepared when used: where a table is missing or damaged, it is these that fail. */
  function add({ key, role, source, body }: MessageRow): number {
    const { words, spoken, tags } = indexedText(role, source, body);
    database.prepare("insert into message_words (rowid, text, tags) values (?, ?, ?)").run(key, words, tags);
    if (spoken !== "") {
      database
        .prepare("insert into message_trigrams (rowid, text, tags) values (?, ?, ?)")
        .run(key, spoken, tags);
    }
    return words.length + spoken.length;
  }

  /** False when nothing was missing. */
  function addBatch(): boolean {
    const { through } = state();
    let characters = 0;
    let last = through;
    for (const row of listNew.all(through)) {
      characters += add(row);
      last = row.key;
      if (characters >= BATCH_CHARACTERS) break;
    }
    if (last === through) return false;
    advance.run(last);
    return true;
  }

  function state(): { through: number; last: number | null } {
    const found = findState.get();
    if (found === undefined)
      throw new AppError("database-damaged", `${database.path}: no state of the search`);
    return found;
  }

  function recreate(): void {
    for (const name of INDEXES) database.prepare(`drop table if exists ${name}`).run();
    for (const sql of CREATE_INDEXES) database.prepare(sql).run();
    advance.run(0);
  }

  async function catchUp(signal: AbortSignal, limit: number): Promise<void> {
    for (let batch = 0; batch < limit; batch++) {
      const { through, last } = state();
      if (last === null || last <= through) return; // without the lock that writing takes
      if (!(await database.write(addBatch, signal))) return;
    }
  }

  async function rebuild(signal: AbortSignal, limit = Number.POSITIVE_INFINITY): Promise<void> {
    await database.write(recreate, signal);
    await catchUp(signal, limit);
  }

  async function refresh(signal: AbortSignal, limit = Number.POSITIVE_INFINITY): Promise<void> {
    try {
      await catchUp(signal, limit);
    } catch (error) {
      if (!isIndexDamage(error)) throw error;
      await rebuild(signal, limit);
    }
  }

  return {
    refresh,
    rebuild: (signal) => rebuild(signal),
    async read(action, signal) {
      await refresh(signal);
      try {
        return action();
      } catch (error) {
        if (!isIndexDamage(error)) throw error;
        await rebuild(signal);
        return action();
      }
    },
    async change(action, signal) {
      try {
        return await database.write(
          () =>
            action((keys) => {
              const list = JSON.stringify(keys);
              for (const name of INDEXES) {
                database
                  .prepare(`delete from ${name} where rowid in (select value from json_each(?))`)
                  .run(list);
              }
            }),
          signal,
        );
      } catch (error) {
        if (!isIndexDamage(error)) throw error;
        await database.write(recreate, signal);
        return await database.write(() => action(() => undefined), signal);
      }
    },
  };
}

/** Also a table that is gone or cannot be opened, which SQLite calls a plain error. */
function isIndexDamage(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database-damaged";
  return errnoOf(error) === "SQLITE_ERROR";
}
