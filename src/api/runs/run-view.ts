import type { TurnOutcome } from "../../agent/events.ts";
import { findRunError } from "../openai/usage.ts";
import type { RunResult } from "../store/api-database.ts";
import type { ApiRun } from "./api-runs.ts";

type RunStatus =
  | "queued"
  | "running"
  | "waiting_for_approval"
  | "stopping"
  | "completed"
  | "failed"
  | "cancelled";

/** The status of an ended run. An answer that was cut by a limit counts as completed; its outcome says that it was cut. */
const ENDED: Readonly<Record<TurnOutcome | "error", RunStatus>> = {
  completed: "completed",
  cut: "completed",
  budget: "completed",
  refused: "failed",
  denied: "failed",
  failed: "failed",
  error: "failed",
  stopped: "cancelled",
};

export function endedStatus({ outcome }: RunResult): RunStatus {
  return ENDED[outcome];
}

export function runStatus(run: ApiRun): RunStatus {
  const result = run.stored()?.result;
  if (result !== undefined) return endedStatus(result);
  switch (run.turn?.state()) {
    case "waiting":
      return "queued";
    case "asking":
      return "waiting_for_approval";
    case "stopping":
      return "stopping";
    default:
      return "running"; // also between the end of the turn and its record, and in another process
  }
}

/** A run as `GET /v1/runs/{id}` shows it. */
export function describeRun(run: ApiRun) {
  const stored = run.stored();
  const result = stored?.result;
  const error = result && findRunError(result);
  return {
    run_id: run.id,
    object: "hermes.run",
    status: runStatus(run),
    model: run.model,
    session_id: stored?.sessionId ?? null,
    created_at: Math.floor(run.createdAt / 1_000),
    ended_at: stored?.endedAt === undefined ? null : Math.floor(stored.endedAt / 1_000),
    output: result?.text ?? null,
    outcome: result?.outcome ?? null,
    reason: result?.reason ?? null,
    error: error === undefined ? null : { code: error.code, message: error.message },
    ...describeUsage(result),
    approvals: (run.turn?.questions() ?? []).map(({ id, kind, tool, summary, reason, details }) => ({
      ...{ approval_id: id, kind, tool, summary, reason },
      choices: details.choices ?? null,
    })),
  };
}

export function describeUsage(result: RunResult | undefined) {
  const { inputTokens, outputTokens } = result?.usage ?? {};
  return {
    usage:
      result?.usage === undefined
        ? null
        : {
            input_tokens: inputTokens ?? null,
            output_tokens: outputTokens ?? null,
            total_tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
          },
    cost_usd: result?.costUsd ?? null,
  };
}
