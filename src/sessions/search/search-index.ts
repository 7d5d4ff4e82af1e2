import { AppError, errnoOf } from "../../lib/errors.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import { createIndexedText } from "./indexed-text.ts";
import { CREATE_INDEXES } from "./search-schema.ts";

interface MessageRow {
  readonly key: number;
  readonly role: "user" | "assistant" | "tool";
  readonly source: string;
  readonly body: string;
}

const INDEXES = ["message_words", "message_trigrams"];
const BATCH_MESSAGES = 500;
const MERGED_PAGES = 500;
const BATCH_CHARACTERS = 500_000; // about 100 ms, because a transaction blocks all other writers

export type SearchIndex = ReturnType<typeof createSearchIndex>;

/**
 * The search index over all messages. Recording does not touch it; a search first adds the missing messages, and a
 * damaged index is rebuilt from the messages.
 */
export function createSearchIndex(database: Database) {
  const findState = database.prepare<{ through: number; last: number | null }>(`
    select indexed_through as through, (select max(key) from message) as last from search_state`);
  const listNew = database.prepare<MessageRow>(`
    select message.key, message.role, message.body, session.source
      from message join turn on turn.key = message.turn_key join session on session.key = turn.session_key
     where message.key > ? order by message.key limit ${BATCH_MESSAGES}`);
  const advance = database.prepare("update search_state set indexed_through = ?");

  /** Prepares its statements on use, because preparing fails if an index table is missing or damaged. */
  function add({ key, role, source, body }: MessageRow): number {
    const { words, spoken, tags } = createIndexedText(role, source, body);
    const insert = (table: string, text: string): unknown =>
      database.prepare(`insert into ${table} (rowid, text, tags) values (?, ?, ?)`).run(key, text, tags);
    insert("message_words", words);
    if (spoken !== "") insert("message_trigrams", spoken);
    return words.length + spoken.length;
  }

  /** Returns false if no message was missing. */
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

  function countChanges(): number {
    return database.prepare<{ count: number }>("select total_changes() as count").get()?.count ?? 0;
  }

  function state(): { through: number; last: number | null } {
    const found = findState.get();
    if (found === undefined)
      throw new AppError("database-damaged", `${database.path}: the search state is missing`);
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
      if (last === null || last <= through) return; // avoids the write lock
      if (!(await database.write(addBatch, signal))) return;
    }
  }

  async function rebuild(signal: AbortSignal, limit = Number.POSITIVE_INFINITY): Promise<void> {
    await database.write(recreate, signal);
    await catchUp(signal, limit);
  }

  /** Removes the remains of deleted messages from the indexes, in transactions of bounded size. */
  async function mergeSegments(signal: AbortSignal): Promise<void> {
    for (const name of INDEXES) {
      // A negative number starts a merge of all segments; further calls continue it until nothing changes.
      for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
        const changes = await database.write(() => {
          const before = countChanges();
          database.prepare(`insert into ${name} (${name}, rank) values ('merge', ?)`).run(pages);
          return countChanges() - before;
        }, signal);
        if (changes < 2) break;
      }
    }
  }

  /** Adds missing messages in transactions of bounded size, at most `limit` transactions. */
  async function refresh(signal: AbortSignal, limit = Number.POSITIVE_INFINITY): Promise<void> {
    try {
      await catchUp(signal, limit);
    } catch (error) {
      if (!isDamagedIndex(error)) throw error;
      await rebuild(signal, limit);
    }
  }

  return {
    refresh,
    /** Makes the indexes as small as their messages allow; a damaged index is rebuilt. */
    async compact(signal: AbortSignal): Promise<void> {
      try {
        await mergeSegments(signal);
      } catch (error) {
        if (!isDamagedIndex(error)) throw error;
        await rebuild(signal);
      }
    },
    rebuild: (signal: AbortSignal) => rebuild(signal),
    /** Refreshes the index, then runs `action`; if the index is damaged, rebuilds it and runs `action` again. */
    async read<Result>(action: () => Result, signal: AbortSignal): Promise<Result> {
      await refresh(signal);
      try {
        return action();
      } catch (error) {
        if (!isDamagedIndex(error)) throw error;
        await rebuild(signal);
        return action();
      }
    },
    /** Runs a transaction that may delete messages; `forget` removes them from the index. Recreates a damaged index. */
    async change<Result>(
      action: (forget: (keys: readonly number[]) => void) => Result,
      signal: AbortSignal,
    ): Promise<Result> {
      const forget = (keys: readonly number[]): void => {
        const list = JSON.stringify(keys);
        for (const name of INDEXES)
          database.prepare(`delete from ${name} where rowid in (select value from json_each(?))`).run(list);
      };
      try {
        return await database.write(() => action(forget), signal);
      } catch (error) {
        if (!isDamagedIndex(error)) throw error;
        await database.write(recreate, signal);
        return await database.write(() => action(() => undefined), signal);
      }
    },
  };
}

/** Includes a missing or unreadable table, which SQLite reports as SQLITE_ERROR. */
function isDamagedIndex(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database-damaged";
  return errnoOf(error) === "SQLITE_ERROR";
}
