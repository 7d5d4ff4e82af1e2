import type { AssistantMessage, Message } from "../providers/message.ts";

/** Gives calls whose ids the conversation has already seen new ones: some servers count from 0 in each answer. */
export function createUniqueCalls(
  history: readonly Message[],
): (message: AssistantMessage) => AssistantMessage {
  const used = new Set<string>();
  const take = (id: string): string => {
    let free = id;
    for (let count = 2; free === "" || used.has(free); count++) free = `${id || "call"}_${count}`;
    used.add(free);
    return free;
  };
  for (const message of history) {
    if (message.role === "assistant")
      for (const part of message.parts) if (part.type === "tool-call") used.add(part.callId);
  }
  return (message) => {
    const parts = message.parts.map((part) =>
      part.type === "tool-call" ? { ...part, callId: take(part.callId) } : part,
    );
    return { ...message, parts };
  };
}
