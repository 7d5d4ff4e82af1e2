import type { Database } from "../lib/database.ts";
import type { UsageTotals } from "./session.ts";

/** What requests have cost, summed up by the database. */
export interface SessionUsage {
  ofSession(id: string): UsageTotals;
  /** Of all sessions, by the time of sending: from `from` up to but not including `until`, in milliseconds. */
  between(from: number, until: number): UsageTotals;
}

const SUMS = `
  count(*) as requests,
  coalesce(sum(input_tokens), 0) as inputTokens,
  coalesce(sum(cache_read_tokens), 0) as cacheReadTokens,
  coalesce(sum(cache_write_tokens), 0) as cacheWriteTokens,
  coalesce(sum(output_tokens), 0) as outputTokens,
  coalesce(sum(reasoning_tokens), 0) as reasoningTokens,
  coalesce(sum(cost_usd), 0.0) as costUsd,
  count(*) filter (where message_key is not null and cost_usd is null) as unpriced`;

export const USAGE_SQL = {
  session: `select ${SUMS} from request where session_key = (select key from session where id = ?)`,
  between: `select ${SUMS} from request where sent_at >= ? and sent_at < ?`,
};

export function createSessionUsage(database: Database): SessionUsage {
  const ofSession = database.prepare<UsageTotals>(USAGE_SQL.session);
  const between = database.prepare<UsageTotals>(USAGE_SQL.between);
  const require = (totals: UsageTotals | undefined): UsageTotals => {
    if (totals === undefined) throw new Error("a sum returned no row");
    return totals;
  };
  return {
    ofSession: (id) => require(ofSession.get(id)),
    between: (from, until) => require(between.get(from, until)),
  };
}
