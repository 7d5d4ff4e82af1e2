import type { AgentEvent } from "../../agent/events.ts";
import { formatRoute } from "../../providers/provider.ts";
import type { TurnNotice } from "../contract/chat.ts";

/** What pages show of an event besides messages and calls; undefined for other events. */
export function toNotice(event: AgentEvent, redact: (text: string) => string): TurnNotice | undefined {
  switch (event.type) {
    case "notice":
      return { type: "notice", text: redact(event.text) };
    case "attempt-failed":
      return { type: "retry", message: redact(event.failure.message), inMs: Math.round(event.retryInMs) };
    case "route-switched": {
      const { from, to, reason } = event;
      return { type: "switch", from: formatRoute(from), to: formatRoute(to), reason: redact(reason) };
    }
    case "compaction-start":
      return { type: "compacting", tokens: Math.round(event.tokens) };
    case "compaction":
      return {
        type: "compacted",
        before: Math.round(event.tokensBefore),
        after: Math.round(event.tokensAfter),
      };
    case "compaction-failed":
      return { type: "compaction-failed", message: redact(event.message), hint: event.hint };
    case "cache-broken":
      return { type: "cache-broken", what: event.what };
    default:
      return undefined;
  }
}
