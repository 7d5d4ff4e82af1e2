import type { Chat, Sender } from "../platform.ts";

export interface ChatKeyRules {
  /** Whether each person in a group has a session of their own. */
  readonly group_sessions_per_user: boolean;
  /** Whether each person in a thread has a session of their own. */
  readonly thread_sessions_per_user: boolean;
}

/**
 * The key of the chat that a message belongs to. People with the same key share a session; nothing else decides that. Each part is
 * escaped, because ids come from the network.
 */
export function chatKeyOf(
  { platform, account }: { readonly platform: string; readonly account: string },
  { chat, sender }: { readonly chat: Chat; readonly sender: Sender },
  rules: ChatKeyRules,
): string {
  const { type, chatId, threadId = "" } = chat;
  const isThread = threadId !== "" || type === "thread";
  const isPersonal = isThread ? rules.thread_sessions_per_user : rules.group_sessions_per_user;
  const person = type !== "dm" && isPersonal ? sender.id : "";
  return [platform, account, type, chatId, threadId, person].map(encodeURIComponent).join(":");
}

/** Whether several people share the chat, so that the model needs the author of each message. */
export function isSharedKey(key: string): boolean {
  const [, , type, , , person] = key.split(":");
  return type !== "dm" && person === "";
}
