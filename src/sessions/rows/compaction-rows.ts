import type { AgentEventOf } from "../../agent/events.ts";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Message } from "../../providers/message.ts";

interface CompactionRow {
  readonly from_key: number;
  readonly request_key: number;
  readonly replacement: string;
}

/** The newest compaction of a session, as stored. */
export interface StoredCompaction {
  /** The key of the first message that follows the replacement. */
  readonly fromKey: number;
  readonly replacement: readonly Message[];
  /** Whether no request was sent since. */
  readonly isUnsent: boolean;
}

const NOT_COMPACTED: StoredCompaction = { fromKey: 0, replacement: [], isUnsent: false };

export const COMPACTION_SQL = {
  newest: `select from_key, request_key, replacement from compaction join turn on turn.key = compaction.turn_key
      where compaction.session_key = ? and turn.undone_at is null order by compaction.key desc limit 1`,
  sentSince: "select 1 from request where session_key = ? and key > ? and prefix_kept is not null limit 1",
};

export function createCompactionReader(database: Database): (sessionKey: number) => StoredCompaction {
  const newest = database.prepare<CompactionRow>(COMPACTION_SQL.newest);
  const sentSince = database.prepare(COMPACTION_SQL.sentSince);
  return (sessionKey) => {
    const row = newest.get(sessionKey);
    if (row === undefined) return NOT_COMPACTED;
    return {
      fromKey: row.from_key,
      replacement: JSON.parse(row.replacement) as Message[],
      isUnsent: sentSince.get(sessionKey, row.request_key) === undefined,
    };
  };
}

/** Writes compactions and failed attempts, inside the caller's transaction. */
export function createCompactionWriter(database: Database) {
  const insert = database.prepare(`
    insert into compaction (session_key, turn_key, created_at, trigger, method, from_key, request_key, tokens_before, tokens_after,
                            duration_ms, cost_usd, replacement)
    values (:sessionKey, :turnKey, hermes_now(), :trigger, :method, :fromKey,
            (select coalesce(max(key), 0) from request where session_key = :sessionKey),
            :tokensBefore, :tokensAfter, :durationMs, :costUsd, :replacement)`);
  const findKept = database.prepare<{ key: number }>(`
    select message.key from turn join message on message.turn_key = turn.key
     where turn.session_key = ? and turn.undone_at is null and role <> 'tool' order by message.key desc limit 1 offset ?`);
  const findLast = database.prepare<{ key: number }>(`
    select max(message.key) as key from turn join message on message.turn_key = turn.key
     where turn.session_key = ? and turn.undone_at is null`);
  const reset = database.prepare(
    "update session set compaction_failures = 0, compaction_retry_at = 0 where key = ?",
  );
  const arm = database.prepare(
    "update session set compaction_failures = compaction_failures + 1, compaction_retry_at = ? where key = ?",
  );
  return {
    add(sessionKey: number, turnKey: number, event: AgentEventOf<"compaction">): void {
      const { trigger, method, kept, tokensBefore, tokensAfter, durationMs, costUsd = null } = event;
      const first =
        kept > 0 ? findKept.get(sessionKey, kept - 1)?.key : (findLast.get(sessionKey)?.key ?? 0) + 1;
      if (first === undefined)
        throw new Error(`a compaction keeps ${kept} messages, but the session has fewer`);
      const replacement = JSON.stringify(event.replacement);
      insert.run({
        ...{ sessionKey, turnKey, trigger, method, fromKey: first, replacement },
        ...{ tokensBefore, tokensAfter, durationMs, costUsd },
      });
      reset.run(sessionKey);
    },
    fail: (sessionKey: number, { retryAt }: AgentEventOf<"compaction-failed">): void =>
      void arm.run(retryAt, sessionKey),
  };
}
