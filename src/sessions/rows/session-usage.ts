import type { Database } from "../../lib/sqlite/database.ts";
import type { Usage } from "../../providers/provider.ts";
import type { UsageTotals } from "../session.ts";

/** A request that is not a step of a turn, such as one for a title. */
export interface AuxiliaryRequest {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  readonly costUsd: number | undefined;
}

export interface NamedTotals extends UsageTotals {
  readonly name: string;
}

/** The calls of one tool, without the copies in branches. */
export interface ToolTotals {
  readonly name: string;
  readonly calls: number;
  /** Calls that failed; those that were stopped or not run do not count. */
  readonly failed: number;
  readonly durationMs: number;
}

/** The turns of one day, and how long they took. */
export interface TurnTotals {
  readonly name: string;
  readonly turns: number;
  readonly durationMs: number;
}

export type SessionUsage = ReturnType<typeof createSessionUsage>;

const SUMS = `
  count(*) as requests,
  coalesce(sum(input_tokens), 0) as inputTokens,
  coalesce(sum(cache_read_tokens), 0) as cacheReadTokens,
  coalesce(sum(cache_write_tokens), 0) as cacheWriteTokens,
  coalesce(sum(output_tokens), 0) as outputTokens,
  coalesce(sum(reasoning_tokens), 0) as reasoningTokens,
  coalesce(sum(cost_usd), 0.0) as costUsd,
  count(*) filter (where (message_key is not null or is_review = 1) and cost_usd is null) as unpriced`;

/** The cross joins make SQLite read the tables in the written order: the turns of the period first, then their calls. */
export const USAGE_SQL = {
  session: `select ${SUMS} from request where session_key = (select key from session where id = ?)`,
  byModel: `select provider || '/' || model as name, ${SUMS} from request
    where sent_at >= ? group by provider, model order by costUsd desc, requests desc`,
  byDay: `select date(sent_at / 1000, 'unixepoch', 'localtime') as name, ${SUMS} from request
    where sent_at >= ? group by 1 order by 1 desc`,
  tools: `select tool as name, count(*) as calls, count(*) filter (where tool_call.outcome = 'failed') as failed,
      coalesce(sum(duration_ms), 0.0) as durationMs
    from turn cross join message on message.turn_key = turn.key cross join tool_call on tool_call.message_key = message.key
    where turn.started_at >= ? and turn.origin_key is null group by tool order by calls desc, tool`,
  turns: `select date(started_at / 1000, 'unixepoch', 'localtime') as name, count(*) as turns,
      coalesce(sum(ended_at - started_at), 0) as durationMs
    from turn where started_at >= ? and origin_key is null group by 1`,
  between: `select ${SUMS} from request where sent_at >= ? and sent_at < ?`,
};

/** Tokens and cost of requests, summed by the database. */
export function createSessionUsage(database: Database) {
  const ofSession = database.prepare<UsageTotals>(USAGE_SQL.session);
  const between = database.prepare<UsageTotals>(USAGE_SQL.between);
  const require = (totals: UsageTotals | undefined): UsageTotals => {
    if (totals === undefined) throw new Error("a sum returned no row");
    return totals;
  };
  return {
    /** Counts a request that is not part of the conversation; its cost belongs to the session's last turn. */
    async addRequest(
      sessionId: string,
      { provider, model, usage, costUsd }: AuxiliaryRequest,
      signal: AbortSignal,
    ): Promise<void> {
      const insert = database.prepare(`
        insert into request (session_key, turn_key, provider, model, sent_at, input_tokens, cache_read_tokens,
                             cache_write_tokens, output_tokens, reasoning_tokens, cost_usd)
        select session_key, key, :provider, :model, hermes_now(), :inputTokens, :cacheReadTokens,
               :cacheWriteTokens, :outputTokens, :reasoningTokens, :costUsd
          from turn where session_key = (select key from session where id = :sessionId) order by key desc limit 1`);
      const counts = {
        inputTokens: usage.inputTokens ?? null,
        cacheReadTokens: usage.cacheReadTokens ?? null,
        cacheWriteTokens: usage.cacheWriteTokens ?? null,
        outputTokens: usage.outputTokens ?? null,
        reasoningTokens: usage.reasoningTokens ?? null,
      };
      await database.write(
        () => insert.run({ sessionId, provider, model, ...counts, costUsd: costUsd ?? null }),
        signal,
      );
    },
    /** Totals of all sessions for requests sent at or after `from`, by model and by local day. */
    byModel: (from: number) => database.prepare<NamedTotals>(USAGE_SQL.byModel).all(from),
    byDay: (from: number) => database.prepare<NamedTotals>(USAGE_SQL.byDay).all(from),
    /** Calls by tool, and turns by local day, of turns that started at or after `from`. */
    byTool: (from: number) => database.prepare<ToolTotals>(USAGE_SQL.tools).all(from),
    turnsByDay: (from: number) => database.prepare<TurnTotals>(USAGE_SQL.turns).all(from),
    ofSession: (id: string) => require(ofSession.get(id)),
    /** Totals of all sessions for requests sent at or after `from` and before `until`, in milliseconds. */
    between: (from: number, until: number) => require(between.get(from, until)),
  };
}
