import type { Database } from "../../lib/sqlite/database.ts";
import type { StoredMessage } from "../inbox/stored-message.ts";
import type { Target } from "../platform.ts";

/**
 * Lets the session of a chat know what was sent there from elsewhere, so that an answer to it is understood. It becomes a part of
 * the next turn. Where several sessions answer in the chat, nobody can say whose message it was, and none is told.
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
