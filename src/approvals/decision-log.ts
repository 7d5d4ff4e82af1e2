import { AppError } from "../lib/errors.ts";
import type { Database } from "../lib/sqlite/database.ts";
import type { Decision } from "../policy/decision.ts";

/** A decision with its call, as it is stored. */
export interface RecordedDecision extends Omit<Decision, "message"> {
  readonly sessionId: string;
  readonly callId: string;
  readonly tool: string;
  readonly hash: string;
  readonly summary: string;
  readonly decidedAt: number;
  /** How the call ended: ok, failed, stopped, unknown, not-run; undefined while it runs. */
  readonly outcome: string | undefined;
}

/**
 * The step that decided. The step `person` is reported as `unattended` if no person could be asked, and as `unanswered`
 * if no person answered.
 */
export function describeStep({
  step,
  approvalId,
  answeredBy,
}: Pick<RecordedDecision, "step" | "approvalId" | "answeredBy">): string {
  if (step !== "person" || answeredBy !== undefined) return step;
  return approvalId === undefined ? "unattended" : "unanswered";
}

/** Why each call was or was not run. */
export interface DecisionLog {
  /** The decisions of calls with the id prefix `callId`, oldest first; throws `call-not-found`. */
  require(callId: string): readonly RecordedDecision[];
  /** All decisions since a time, oldest first. */
  since(time: number, limit: number): readonly RecordedDecision[];
}

interface DecisionRow {
  readonly session_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly decided_at: number;
  readonly verdict: Decision["verdict"];
  readonly step: Decision["step"];
  readonly rule: string | null;
  readonly layer: Decision["layer"] | null;
  readonly scope: Decision["scope"] | null;
  readonly answered_by: string | null;
  readonly approval_id: string | null;
  readonly hash: string;
  readonly summary: string;
  readonly reason: string;
  readonly outcome: string | null;
}

const SELECT = `
  select session.id as session_id, decision.call_id, decision.tool, decided_at, verdict, step, rule, layer, scope,
         answered_by, approval_id, hash, summary, reason, tool_call.outcome
    from decision join session on session.key = decision.session_key
    left join tool_call on tool_call.session_key = decision.session_key and tool_call.call_id = decision.call_id`;

export function createDecisionLog(database: Database): DecisionLog {
  const byCall = database.prepare<DecisionRow>(
    `${SELECT} where substr(decision.call_id, 1, length(:id)) = :id order by decision.key limit 50`,
  );
  const since = database.prepare<DecisionRow>(
    `${SELECT} where decided_at >= ? order by decided_at desc, decision.key desc limit ?`,
  );
  return {
    require(callId) {
      const rows = callId === "" ? [] : byCall.all({ id: callId });
      if (rows.length > 0) return rows.map(toRecorded);
      throw new AppError("call-not-found", `No decision about a call ${callId} is stored.`);
    },
    since: (time, limit) => since.all(time, limit).map(toRecorded).toReversed(),
  };
}

/** Writes decisions inside the transaction of the event that carries them. */
export function createDecisionWriter(
  database: Database,
): (
  sessionKey: number,
  call: Pick<RecordedDecision, "callId" | "tool" | "hash" | "summary">,
  decision: Decision,
) => void {
  const insert = database.prepare(`
    insert into decision (session_key, call_id, tool, decided_at, verdict, step, rule, layer, scope, answered_by, approval_id,
                          hash, summary, reason)
    values (:sessionKey, :callId, :tool, hermes_now(), :verdict, :step, :rule, :layer, :scope, :answeredBy, :approvalId,
            :hash, :summary, :reason)`);
  return (sessionKey, { callId, tool, hash, summary }, decision) => {
    const { verdict, step, rule, layer, scope, answeredBy, approvalId, reason } = decision;
    insert.run({
      ...{ sessionKey, callId, tool, hash, summary, verdict, step, reason },
      rule: rule ?? null,
      layer: layer ?? null,
      scope: scope ?? null,
      answeredBy: answeredBy ?? null,
      approvalId: approvalId ?? null,
    });
  };
}

function toRecorded(row: DecisionRow): RecordedDecision {
  return {
    sessionId: row.session_id,
    callId: row.call_id,
    tool: row.tool,
    decidedAt: row.decided_at,
    verdict: row.verdict,
    step: row.step,
    rule: row.rule ?? undefined,
    layer: row.layer ?? undefined,
    scope: row.scope ?? undefined,
    answeredBy: row.answered_by ?? undefined,
    approvalId: row.approval_id ?? undefined,
    hash: row.hash,
    summary: row.summary,
    reason: row.reason,
    outcome: row.outcome ?? undefined,
  };
}
