import type { Database } from "../../lib/sqlite/database.ts";
import type { StoredMessage } from "../inbox/stored-message.ts";
import type { Target } from "../platform.ts";

/**
 * Adds a message that was sent into a chat from elsewhere to the next turn of its session, so that the model understands replies to
 * it. If several sessions answer in the chat, it is added to none, because it is unknown which one it belongs to.
 */
export function createMirror(database: Database) {
  const candidates = database.prepare<{ key: string }>(
    "select key from chat where platform = ? and chat_id = ? and coalesce(thread_id, '') = ? limit 2",
  );
  const insert = database.prepare(`
    insert into inbox (platform, account, chat_id, message_id, message, received_at, state, chat_key)
    values (:platform, :account, :chatId, :id, :message, hermes_now(), 'noted', :chatKey)
    on conflict (account, chat_id, message_id) do nothing`);

  return {
    /** Runs inside a transaction, together with the rows of the outbox. */
    add(source: string, { platform, chatId, threadId }: Target, text: string): void {
      const [chat, second] = candidates.all(platform, chatId, threadId ?? "");
      if (chat === undefined || second !== undefined) return;
      const [, account = "", type = ""] = chat.key.split(":").map(decodeURIComponent);
      const id = `mirror-${source}`;
      const message: StoredMessage = {
        id,
        chat: { chatId, threadId, type: type as StoredMessage["chat"]["type"] },
        sender: { id: "hermes", name: "Sent here by Hermes itself", isBot: true, isProven: true },
        text,
        sentAt: 0,
        isAddressed: false,
        handling: "context",
      };
      insert.run({ platform, account, chatId, id, message: JSON.stringify(message), chatKey: chat.key });
    },
  };
}
