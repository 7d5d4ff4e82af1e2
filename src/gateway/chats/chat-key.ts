import type { Chat, Sender } from "../platform.ts";

export interface ChatKeyRules {
  /** Whether each person in a group has a session of their own. */
  readonly group_sessions_per_user: boolean;
  /** The same within a thread. */
  readonly thread_sessions_per_user: boolean;
}

/**
 * The key of the session that a message belongs to: who shares a session is decided here and nowhere else. Ids come from the
 * network, so each part is escaped.
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

/** Whether several people write in the session of a key, so that the model must be told who wrote what. */
export function isSharedKey(key: string): boolean {
  const [, , type, , , person] = key.split(":");
  return type !== "dm" && person === "";
}
