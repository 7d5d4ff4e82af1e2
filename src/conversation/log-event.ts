import type { AgentEvent } from "../agent/events.ts";
import type { Log, LogFields } from "../lib/log/log.ts";
import { formatRoute } from "../providers/provider.ts";

type LogEntry = readonly [level: "debug" | "info" | "warn" | "error", message: string, fields: LogFields];

/**
 * Logs the events of turns; disposing writes the pending lines. Lines are written while the program waits for a command
 * or the model, because writing a line takes as long as a transaction.
 */
export function openEventLog(log: Log) {
  let pending: LogEntry[] = [];
  const flush = (): void => {
    const entries = pending;
    pending = [];
    for (const [level, message, fields] of entries) log[level](message, fields);
  };
  return {
    /** Logs what is needed to reconstruct a turn: times, models and outcomes, but no contents. */
    add(event: AgentEvent): void {
      const entry = createEntry(event);
      if (entry === undefined) return;
      pending.push(entry);
      if (event.type === "turn-end") flush();
      else if (pending.length === 1) setImmediate(() => setImmediate(flush)); // the first one lets a request be sent
    },
    [Symbol.dispose]: flush,
  };
}

function createEntry(event: AgentEvent): LogEntry | undefined {
  switch (event.type) {
    case "turn-start":
      return ["info", "turn started", { turn: event.turnId, after_crash: event.interrupted !== undefined }];
    case "request-sent":
      return ["debug", "request sent", { provider: event.provider, model: event.model }];
    case "attempt-failed": {
      const { kind, message: reason, status } = event.failure;
      return ["warn", "request failed", { kind, reason, status, retry_in_ms: event.retryInMs }];
    }
    case "route-switched": {
      const { from, to, reason, lostCacheTokens, lostCacheUsd } = event;
      const fields = { from: formatRoute(from), to: formatRoute(to), reason };
      return ["warn", "route switched", { ...fields, lost_tokens: lostCacheTokens, lost_usd: lostCacheUsd }];
    }
    case "compaction": {
      const { trigger, method, tokensBefore, tokensAfter, durationMs, costUsd } = event;
      const sizes = { tokens_before: tokensBefore, tokens_after: tokensAfter };
      return [
        "info",
        "conversation compacted",
        { trigger, method, ...sizes, duration_ms: durationMs, cost_usd: costUsd },
      ];
    }
    case "compaction-failed":
      return ["warn", "compaction failed", { kind: event.kind, reason: event.message }];
    case "cache-broken":
      return ["warn", "prompt cache lost", { at: event.at, what: event.what }];
    case "assistant": {
      const { provider, model, finish, usage, costUsd } = event;
      return ["info", "model answered", { provider, model, finish, ...usage, cost_usd: costUsd }];
    }
    case "call-reviewed": {
      const { callId: call, provider, model, usage, costUsd } = event;
      return ["info", "reviewer asked", { call, provider, model, ...usage, cost_usd: costUsd }];
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
