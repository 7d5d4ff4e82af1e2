import type { Database } from "../../lib/sqlite/database.ts";
import type { RouteName } from "../../providers/provider.ts";

/** One switch of a session to another key or model. */
export interface StoredSwitch {
  readonly switchedAt: number;
  readonly from: RouteName;
  readonly to: RouteName;
  readonly reason: string;
  readonly lostCacheTokens: number | undefined;
  readonly lostCacheUsd: number | undefined;
}

/** How many requests of a session a model answered. */
export interface AnsweringModel {
  readonly provider: string;
  readonly model: string;
  readonly answers: number;
}

interface SwitchRow {
  readonly switched_at: number;
  readonly from_provider: string;
  readonly from_model: string;
  readonly from_key_source: string | null;
  readonly to_provider: string;
  readonly to_model: string;
  readonly to_key_source: string | null;
  readonly reason: string;
  readonly lost_cache_tokens: number | null;
  readonly lost_cache_usd: number | null;
}

export const ROUTE_SQL = {
  last: `select provider, model, key_source as keySource from request
    where session_key = (select key from session where id = ?) and prefix_kept is not null order by key desc limit 1`,
  switches: `select * from route_switch where session_key = (select key from session where id = ?) order by key`,
  // The placeholder for a missing answer has no tokens and no reason to stop.
  models: `select provider, model, count(*) as answers from request
    where session_key = (select key from session where id = ?) and message_key is not null
      and not (finish = 'other' and output_tokens is null) group by provider, model order by answers desc`,
};

/** Reads which models and keys the requests of a session went to. */
export function createSessionRoutes(database: Database) {
  const last = database.prepare<Omit<RouteName, "keySource"> & { keySource: string | null }>(ROUTE_SQL.last);
  const switches = database.prepare<SwitchRow>(ROUTE_SQL.switches);
  const models = database.prepare<AnsweringModel>(ROUTE_SQL.models);
  return {
    /** The route of the last request; undefined if nothing was sent yet. */
    last(id: string): RouteName | undefined {
      const row = last.get(id);
      return row && { ...row, keySource: row.keySource ?? undefined };
    },
    switches: (id: string): StoredSwitch[] => switches.all(id).map(toSwitch),
    models: (id: string): AnsweringModel[] => models.all(id),
  };
}

function toSwitch(row: SwitchRow): StoredSwitch {
  const { from_provider, from_model, from_key_source, to_provider, to_model, to_key_source } = row;
  return {
    switchedAt: row.switched_at,
    from: { provider: from_provider, model: from_model, keySource: from_key_source ?? undefined },
    to: { provider: to_provider, model: to_model, keySource: to_key_source ?? undefined },
    reason: row.reason,
    lostCacheTokens: row.lost_cache_tokens ?? undefined,
    lostCacheUsd: row.lost_cache_usd ?? undefined,
  };
}
