import type { LanguageModelV3Prompt } from "@ai-sdk/provider";

export type CacheTtl = "5m" | "1h";

const MARKED_MESSAGES = 3; // the API allows four markers, and the system prompt gets one

/** Adds cache markers to the system prompt and to the ends of the last three messages on the wire. */
export function withCacheMarkers(prompt: LanguageModelV3Prompt, ttl: CacheTtl): LanguageModelV3Prompt {
  const cacheControl = { type: "ephemeral", ...(ttl === "5m" ? {} : { ttl }) };
  const marked = new Set<number>();
  for (let index = prompt.length - 1; index >= 0 && marked.size < MARKED_MESSAGES; index--) {
    const side = sideOf(prompt[index]?.role);
    // Consecutive messages of one side are sent as one message, so only the last one needs a marker.
    if (side !== "system" && sideOf(prompt[index + 1]?.role) !== side) marked.add(index);
  }
  return prompt.map((message, index) =>
    message.role === "system" || marked.has(index)
      ? { ...message, providerOptions: { ...message.providerOptions, anthropic: { cacheControl } } }
      : message,
  );
}

function sideOf(role: string | undefined): string | undefined {
  return role === "tool" ? "user" : role;
}
