import type { AgentEvent } from "../../agent/events.ts";
import { shorten } from "../../lib/text/shorten.ts";
import type { Frame } from "../event-stream.ts";
import { findRunError } from "../openai/usage.ts";
import type { ApiRun } from "./api-runs.ts";
import type { RunFormat } from "./follow-run.ts";
import { describeUsage, endedStatus } from "./run-view.ts";

const PREVIEW = 500;

/** The events of a run, as `{event, run_id, …}`. */
export function createRunFormat({ id }: ApiRun): RunFormat {
  const frame = (event: string, fields: object): Frame => ({
    data: JSON.stringify({ event, run_id: id, ...fields }),
  });
  return {
    start: () => [],
    event(event: AgentEvent) {
      switch (event.type) {
        case "turn-start":
          return [frame("run.started", {})];
        case "text-delta":
          return [frame("message.delta", { delta: event.text })];
        case "reasoning-delta":
          return [frame("reasoning.delta", { delta: event.text })];
        case "tools-start":
          return event.calls.map(({ callId, tool, input }) =>
            frame("tool.started", { call_id: callId, tool, preview: shorten(input, PREVIEW) }),
          );
        case "tool-end": {
          const { callId, tool, outcome, text, durationMs } = event;
          const preview = shorten(text, PREVIEW);
          return [
            frame("tool.completed", { call_id: callId, tool, outcome, preview, duration_ms: durationMs }),
          ];
        }
        case "approval-asked": {
          const { id: approval_id, kind, tool, summary, reason, details, endsAt } = event.approval;
          const choices =
            kind === "approval" ? ["once", "session", "always", "deny"] : (details.choices ?? []);
          const ends = endsAt === undefined ? null : Math.floor(endsAt / 1_000);
          return [
            frame("approval.request", { approval_id, kind, tool, summary, reason, choices, ends_at: ends }),
          ];
        }
        case "approval-answered": {
          const { id: approval_id, state } = event.approval;
          return [frame("approval.responded", { approval_id, state })];
        }
        case "steer":
          return [frame("run.steered", {})];
        case "notice":
          return [frame("notice", { text: event.text })];
        default:
          return [];
      }
    },
    end(result) {
      const error = findRunError(result);
      const fields = {
        ...{ output: result.text, outcome: result.outcome, reason: result.reason ?? null },
        error: error === undefined ? null : { code: error.code, message: error.message },
        ...describeUsage(result),
      };
      return [frame(`run.${endedStatus(result)}`, fields)];
    },
  };
}
