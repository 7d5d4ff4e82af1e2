import { AppError } from "../../../lib/errors.ts";
import type { BoardTransaction } from "../../board-transaction.ts";
import { type RunCaller, requireRight } from "../../caller.ts";
import { first, run, type Steps } from "../../database/steps.ts";
import { cleanText, requireInteger } from "../../task-text.ts";
import { supersededError } from "../views/rows.ts";

export interface RunUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  readonly costMicros?: number;
}

/** Renews the lease of a run; throws `run-superseded` when the run has ended. */
export function* renewRun(
  transaction: BoardTransaction,
  heartbeat?: { readonly note?: string },
): Steps<{ leaseUntil: number }> {
  const { runId, taskId, token } = requireRunCaller(transaction);
  const beat = heartbeat === undefined ? "" : ", last_heartbeat_at = hermes_now()";
  const row = yield* first<{ lease_until: number }>(
    `update run set lease_until = hermes_now() + lease_ms${beat}
      where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null returning lease_until`,
    { runId, taskId, token },
  );
  if (row === undefined) throw supersededError(runId, taskId);
  const note = heartbeat?.note?.trim() ?? "";
  // A heartbeat without a note only updates a column, so that events do not accumulate.
  if (note !== "")
    transaction.recordEvent({
      taskId,
      runId,
      kind: "heartbeat",
      payload: { note: cleanText(note, "note", 2_000) },
    });
  return { leaseUntil: row.lease_until };
}

function requireRunCaller({ caller }: BoardTransaction): RunCaller {
  requireRight(caller, "heartbeat");
  if (caller.kind === "run") return caller;
  throw new AppError("board-action-denied", "Only a run can renew its lease and record its facts.");
}

export interface WorkerFacts extends RunUsage {
  readonly workerPid?: number;
  readonly workerIdentity?: string;
  readonly supervisorPid?: number;
  readonly sessionId?: string;
  /** The route to its model, in the format of `DispatchHost.routeOf`. */
  readonly route?: string;
}

/** Records the processes of a run and adds to its usage; throws `run-superseded` when the run has ended. */
export function* describeRun(transaction: BoardTransaction, facts: WorkerFacts): Steps<void> {
  const { runId, taskId, token } = requireRunCaller(transaction);
  const requireUsage = (value = 0): number => requireInteger(value, "usage", 0, Number.MAX_SAFE_INTEGER);
  const updated = yield* run(
    `update run set worker_pid = coalesce(cast(:workerPid as bigint), worker_pid),
            worker_identity = coalesce(cast(:workerIdentity as text), worker_identity),
            supervisor_pid = coalesce(cast(:supervisorPid as bigint), supervisor_pid),
            session_id = coalesce(cast(:sessionId as text), session_id),
            input_tokens = input_tokens + :inputTokens, output_tokens = output_tokens + :outputTokens,
            cached_tokens = cached_tokens + :cachedTokens, cost_micros = cost_micros + :costMicros
      where id = :runId and task_id = :taskId and lease_token = :token and ended_at is null`,
    {
      runId,
      taskId,
      token,
      workerPid: facts.workerPid ?? null,
      workerIdentity: facts.workerIdentity ?? null,
      supervisorPid: facts.supervisorPid ?? null,
      sessionId: facts.sessionId ?? null,
      inputTokens: requireUsage(facts.inputTokens),
      outputTokens: requireUsage(facts.outputTokens),
      cachedTokens: requireUsage(facts.cachedTokens),
      costMicros: requireUsage(facts.costMicros),
    },
  );
  if (updated === 0) throw supersededError(runId, taskId);
  if (facts.workerPid !== undefined)
    transaction.recordEvent({
      taskId,
      runId,
      kind: "spawned",
      payload: { pid: facts.workerPid, ...(facts.route !== undefined && { route: facts.route }) },
    });
}
