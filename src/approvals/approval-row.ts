import type { Approval, ApprovalDetails } from "./approval.ts";

export interface ApprovalRow {
  readonly id: string;
  readonly session_id: string;
  readonly kind: Approval["kind"];
  readonly call_id: string;
  readonly tool: string;
  readonly hash: string;
  readonly summary: string;
  readonly reason: string;
  readonly rule: string | null;
  readonly details: string;
  readonly holder: string | null;
  readonly asked_at: number;
  readonly ends_at: number | null;
  readonly state: Approval["state"];
  readonly scope: NonNullable<Approval["scope"]> | null;
  readonly answer: string | null;
  readonly answered_by: string | null;
  readonly answered_at: number | null;
}

/** The columns of an ApprovalRow, in a query that joins `session`. */
export const COLUMNS = `approval.id, session.id as session_id, approval.kind, call_id, tool, hash, summary, reason, rule,
  details, holder, asked_at, ends_at, state, scope, answer, answered_by, answered_at`;

export function toApproval(row: ApprovalRow): Approval {
  return {
    id: row.id,
    sessionId: row.session_id,
    kind: row.kind,
    callId: row.call_id,
    tool: row.tool,
    hash: row.hash,
    summary: row.summary,
    reason: row.reason,
    rule: row.rule ?? undefined,
    details: JSON.parse(row.details) as ApprovalDetails,
    state: row.state,
    scope: row.scope ?? undefined,
    answer: row.answer ?? undefined,
    answeredBy: row.answered_by ?? undefined,
    askedAt: row.asked_at,
    endsAt: row.ends_at ?? undefined,
    answeredAt: row.answered_at ?? undefined,
    holder: row.holder ?? undefined,
  };
}
