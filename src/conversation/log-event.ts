import type { AgentEvent } from "../agent/events.ts";
import type { Log, LogFields } from "../lib/log/log.ts";

type Line = readonly [level: "debug" | "info" | "warn" | "error", message: string, fields: LogFields];

/** Writes down what a person needs to find out what happened in a run: when, which model, how it went; no contents. */
export function logEvent(log: Log, event: AgentEvent): void {
  const line = lineOf(event);
  if (line === undefined) return;
  const [level, message, fields] = line;
  log[level](message, fields);
}

function lineOf(event: AgentEvent): Line | undefined {
  switch (event.type) {
    case "turn-start":
      return ["info", "turn started", { turn: event.turnId, after_crash: event.interrupted !== undefined }];
    case "request-sent":
      return ["debug", "request sent", { provider: event.provider, model: event.model }];
    case "attempt-failed": {
      const { kind, message: reason, status } = event.failure;
      return ["warn", "request failed", { kind, reason, status, retry_in_ms: event.retryInMs }];
    }
    case "cache-broken":
      return ["warn", "prompt cache lost", { at: event.at, what: event.what }];
    case "assistant": {
      const { provider, model, finish, usage, costUsd } = event;
      return ["info", "model answered", { provider, model, finish, ...usage, cost_usd: costUsd }];
    }
    case "tool-end": {
      const { tool, outcome, durationMs } = event;
      const level = outcome === "ok" ? "info" : "warn";
      return [level, "tool ended", { tool, outcome, duration_ms: durationMs }];
    }
    case "turn-end": {
      const { turnId: turn, outcome, reason, requests, costUsd } = event;
      const level = outcome === "completed" || outcome === "stopped" ? "info" : "error";
      return [level, "turn ended", { turn, outcome, reason, requests, cost_usd: costUsd }];
    }
    default:
      return undefined;
  }
}
