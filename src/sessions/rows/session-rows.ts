import type { SessionModel, SessionSummary } from "../session.ts";

/** The columns that `toSummary` needs, for `session` left-joined with itself as `parent`. */
export const SUMMARY_COLUMNS =
  "session.id, session.source, session.title, session.cwd, session.provider, session.model, " +
  "parent.id as parent, session.parent_link as parentLink, session.created_at as createdAt, " +
  "session.active_at as activeAt, session.archived_at as archivedAt";

type NullableColumn = "title" | "parent" | "parentLink" | "archivedAt";

export type SummaryRow = Omit<SessionSummary, NullableColumn> & {
  readonly [Column in NullableColumn]: Exclude<SessionSummary[Column], undefined> | null;
};

export function toSummary<Row extends SummaryRow>(row: Row) {
  return {
    ...row,
    title: row.title ?? undefined,
    parent: row.parent ?? undefined,
    parentLink: row.parentLink ?? undefined,
    archivedAt: row.archivedAt ?? undefined,
  };
}

/** The column values of a session's model. */
export function modelColumns({ provider, model, baseUrl, keepsAddress, apiMode }: SessionModel) {
  return {
    provider,
    model,
    baseUrl: baseUrl ?? null,
    keepsAddress: keepsAddress ? 1 : 0,
    apiMode: apiMode ?? null,
  };
}
