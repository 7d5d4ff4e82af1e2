import type { Database } from "../../lib/sqlite/database.ts";
import type { InboundMessage } from "../platform.ts";
import type { StoredMessage } from "./stored-message.ts";

/**
 * `stored`: nothing has been decided. `waiting`: for a turn of its chat. `running`: in a turn. `noted`: for later turns of its chat.
 * `done`: answered, or needs no answer. `refused`: its sender is not allowed. `ignored`: not meant for us. `failed`: no answer.
 */
export type InboxState =
  | "stored"
  | "waiting"
  | "running"
  | "noted"
  | "done"
  | "refused"
  | "ignored"
  | "failed";

export interface InboxEntry {
  /** The number by which people name the message. */
  readonly key: number;
  readonly platform: string;
  readonly account: string;
  readonly message: StoredMessage;
  readonly receivedAt: number;
  readonly state: InboxState;
  readonly reason: string | undefined;
  readonly chatKey: string | undefined;
  readonly turnId: string | undefined;
}

interface InboxRow {
  readonly key: number;
  readonly platform: string;
  readonly account: string;
  readonly message: string;
  readonly received_at: number;
  readonly state: InboxState;
  readonly reason: string | null;
  readonly chat_key: string | null;
  readonly turn_id: string | null;
}

const COLUMNS = "key, platform, account, message, received_at, state, reason, chat_key, turn_id";

export type Inbox = ReturnType<typeof createInbox>;

/** What has arrived. Each message is stored once, whichever connection delivers it, and however often. */
export function createInbox(database: Database) {
  const insert = database.prepare(`
    insert into inbox (platform, account, chat_id, message_id, message, received_at)
    values (:platform, :account, :chatId, :messageId, :message, hermes_now())
    on conflict (account, chat_id, message_id) do nothing`);
  const known = database.prepare<{ one: 1 }>(
    "select 1 as one from inbox where account = ? and chat_id = ? and message_id = ?",
  );
  const saveCursor = database.prepare(
    "insert into cursor (account, value) values (?, ?) on conflict (account) do update set value = excluded.value",
  );
  const readCursor = database.prepare<{ value: string }>("select value from cursor where account = ?");
  const nextStored = database.prepare<InboxRow>(
    `select ${COLUMNS} from inbox where state = 'stored' order by key limit 1`,
  );
  const settle = database.prepare(
    "update inbox set state = :state, reason = :reason, chat_key = coalesce(:chatKey, chat_key) where key = :key",
  );
  const byKey = database.prepare<InboxRow>(`select ${COLUMNS} from inbox where key = ?`);
  const latest = database.prepare<InboxRow>(`select ${COLUMNS} from inbox order by key desc limit ?`);
  const byTurn = database.prepare<InboxRow>(`select ${COLUMNS} from inbox where turn_id = ? order by key`);
  const counts = database.prepare<{ state: InboxState; count: number }>(
    "select state, count(*) as count from inbox group by state",
  );

  return {
    cursor: (account: string): string | undefined => readCursor.get(account)?.value,
    isKnown: (account: string, { chat, id }: Pick<InboundMessage, "chat" | "id">): boolean =>
      known.get(account, chat.chatId, id) !== undefined,
    /** Stores messages and the cursor in one transaction; returns how many were new. */
    store: (
      { platform, account }: { readonly platform: string; readonly account: string },
      messages: readonly StoredMessage[],
      cursor: string | undefined,
      signal: AbortSignal,
    ): Promise<number> =>
      database.write(() => {
        let added = 0;
        for (const message of messages)
          added += insert.run({
            ...{ platform, account },
            chatId: message.chat.chatId,
            messageId: message.id,
            message: JSON.stringify(message),
          }).changes;
        if (cursor !== undefined) saveCursor.run(account, cursor);
        return added;
      }, signal),
    nextStored: (): InboxEntry | undefined => toEntry(nextStored.get()),
    /** Runs inside a transaction. */
    settle(
      key: number,
      state: InboxState,
      { reason, chatKey }: { reason?: string; chatKey?: string } = {},
    ): void {
      settle.run({ key, state, reason: reason ?? null, chatKey: chatKey ?? null });
    },
    find: (key: number): InboxEntry | undefined => toEntry(byKey.get(key)),
    /** The newest first. */
    latest: (limit: number): readonly InboxEntry[] => latest.all(limit).flatMap((row) => toEntry(row) ?? []),
    ofTurn: (turnId: string): readonly InboxEntry[] =>
      byTurn.all(turnId).flatMap((row) => toEntry(row) ?? []),
    counts: (): Readonly<Partial<Record<InboxState, number>>> =>
      Object.fromEntries(counts.all().map(({ state, count }) => [state, count])),
  };
}

function toEntry(row: InboxRow | undefined): InboxEntry | undefined {
  if (row === undefined) return undefined;
  return {
    key: row.key,
    platform: row.platform,
    account: row.account,
    message: JSON.parse(row.message) as StoredMessage,
    receivedAt: row.received_at,
    state: row.state,
    reason: row.reason ?? undefined,
    chatKey: row.chat_key ?? undefined,
    turnId: row.turn_id ?? undefined,
  };
}
