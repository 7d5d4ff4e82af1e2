import type { AgentEventOf } from "../../agent/events.ts";
import type { ModelEvent } from "../../providers/provider.ts";

/**
 * Renames calls whose id already occurs in the session. A server that numbers its calls sees only the messages of a request, so
 * it would repeat the ids of compacted messages.
 */
export async function* withUniqueCalls(
  events: AsyncIterable<ModelEvent | AgentEventOf<"attempt-failed" | "route-switched">>,
  isKnown: (callId: string) => boolean,
): AsyncGenerator<ModelEvent | AgentEventOf<"attempt-failed" | "route-switched">> {
  const names = new Map<string, string>();
  const rename = (callId: string): string => {
    let name = names.get(callId) ?? callId;
    for (let count = 2; isKnown(name); count++) name = `${callId}-${count}`;
    names.set(callId, name);
    return name;
  };
  for await (const event of events) {
    if (event.type === "tool-call-start" || event.type === "tool-input-delta")
      yield { ...event, callId: rename(event.callId) };
    else if (event.type === "message-end") {
      const parts = event.message.parts.map((part) =>
        part.type === "tool-call" ? { ...part, callId: rename(part.callId) } : part,
      );
      yield { ...event, message: { ...event.message, parts } };
    } else yield event;
  }
}
