import type { CacheTtl } from "../anthropic/cache-markers.ts";
import { type Message, textOf } from "../message.ts";
import { isJsonObject } from "../wire/json-object.ts";

const MARKED_MESSAGES = 3; // the models allow four markers, and the system prompt gets one

/** Adds cache markers to the system prompt and to the last three messages with text, in their serialized form. */
export function addCacheMarkers(serialized: string[], messages: readonly Message[], ttl: CacheTtl): void {
  const cache_control = { type: "ephemeral", ...(ttl === "5m" ? {} : { ttl }) };
  let left = MARKED_MESSAGES;
  for (const [index, message] of [...messages.entries()].reverse()) {
    const isSystem = message.role === "system";
    if ((left === 0 && !isSystem) || !hasText(message)) continue;
    if (!isSystem) left--;
    serialized[index] = withMarker(serialized[index] ?? "", cache_control);
  }
}

function hasText(message: Message): boolean {
  const text = message.role === "system" || message.role === "tool" ? message.text : textOf(message);
  return text.trim() !== ""; // a marker on empty text is refused
}

/** The marker belongs to a block, so text becomes a list with one block. */
function withMarker(json: string, cache_control: object): string {
  const message = JSON.parse(json) as { readonly content: unknown };
  const blocks: readonly unknown[] = Array.isArray(message.content)
    ? message.content
    : [{ type: "text", text: message.content }];
  const last = blocks.findLastIndex((block) => isJsonObject(block) && block["type"] === "text");
  const content = blocks.map((block, index) =>
    index === last && isJsonObject(block) ? { ...block, cache_control } : block,
  );
  return JSON.stringify({ ...message, content });
}
