import type { SessionSummary } from "./session.ts";

/** What `toSummary` needs, of `session` joined with itself as `parent`. */
export const SUMMARY_COLUMNS =
  "session.id, session.source, session.title, session.cwd, session.provider, session.model, " +
  "session.created_at, session.active_at, parent.id as parent_id";

export interface SummaryRow {
  readonly id: string;
  readonly source: string;
  readonly title: string | null;
  readonly cwd: string;
  readonly provider: string;
  readonly model: string;
  readonly created_at: number;
  readonly active_at: number;
  readonly parent_id: string | null;
}

export function toSummary(row: SummaryRow): SessionSummary {
  return {
    id: row.id,
    source: row.source,
    title: row.title ?? undefined,
    cwd: row.cwd,
    provider: row.provider,
    model: row.model,
    parent: row.parent_id ?? undefined,
    createdAt: row.created_at,
    activeAt: row.active_at,
  };
}
