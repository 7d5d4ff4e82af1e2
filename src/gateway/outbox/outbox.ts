import { randomBytes } from "node:crypto";
import type { Database } from "../../lib/sqlite/database.ts";
import type { OutboundPart, Target } from "../platform.ts";

/**
 * `pending`: to be sent. `sending`: an attempt is being made. `uncertain`: the last attempt may have succeeded. `failed`: it was not
 * sent and will not be, or nobody can tell.
 */
export type OutboxState = "pending" | "sending" | "uncertain" | "sent" | "failed";

export interface OutboxEntry {
  readonly key: number;
  readonly source: string;
  readonly platform: string;
  readonly part: OutboundPart;
  readonly state: OutboxState;
  /** Whether it is sent once more with the remark that it may be a repetition. */
  readonly isMarked: boolean;
  readonly attempts: number;
  readonly nextAttemptAt: number;
  readonly messageId: string | undefined;
  readonly reason: string | undefined;
  readonly inboxKey: number | undefined;
  readonly endedAt: number | undefined;
}

interface OutboxRow {
  readonly key: number;
  readonly id: string;
  readonly source: string;
  readonly platform: string;
  readonly chat_id: string;
  readonly thread_id: string | null;
  readonly replies_to: string | null;
  readonly content: string;
  readonly inbox_key: number | null;
  readonly created_at: number;
  readonly state: OutboxState;
  readonly is_marked: 0 | 1;
  readonly attempts: number;
  readonly next_attempt_at: number;
  readonly message_id: string | null;
  readonly reason: string | null;
  readonly ended_at: number | null;
}

/** What is to be said. `source` and the position of a part identify it: written twice, it is still one part. */
export interface OutgoingMessage {
  /** Such as `turn:ID` or `inbox:KEY`. */
  readonly source: string;
  readonly target: Target;
  readonly contents: readonly OutboundPart["content"][];
  readonly repliesTo?: string | undefined;
  /** The message that it answers. */
  readonly inboxKey?: number | undefined;
  /** Whether its text is removed from the row once it was sent. */
  readonly isSecret?: boolean | undefined;
  /** Whether the first part replaces what was said under this name before: edited where it has arrived already. */
  readonly isRevision?: boolean | undefined;
}

/** A part never waits longer, so a time that is farther away is from before the clock was set back. */
const LONGEST_WAIT_MS = 6 * 3_600_000;

export type Outbox = ReturnType<typeof createOutbox>;

/** The only way out: every part that is to reach a chat is a row here first, and one process sends it. */
export function createOutbox(database: Database) {
  const insert = database.prepare(`
    insert into outbox (id, source, part, platform, chat_id, thread_id, replies_to, content, inbox_key, is_secret, created_at)
    values (:id, :source, :part, :platform, :chatId, :threadId, :repliesTo, :content, :inboxKey, :isSecret, hermes_now())
    on conflict (source, part) do nothing`);
  // A chat gets its parts in their order, so only the first open one of each chat can be due.
  const due = database.prepare<OutboxRow>(`
    select * from outbox where key in (
      select min(key) from outbox where platform = ? and state in ('pending', 'sending', 'uncertain') group by chat_id, thread_id
    ) and state <> 'sending' and (next_attempt_at <= hermes_now() or next_attempt_at > hermes_now() + ${LONGEST_WAIT_MS})
    order by key limit ?`);
  const nextDue = database.prepare<{ at: number | null }>(`
    select min(next_attempt_at) as at from outbox where state <> 'sending' and key in (
      select min(key) from outbox where platform = ? and state in ('pending', 'sending', 'uncertain') group by chat_id, thread_id
    )`);
  const start = database.prepare(`
    update outbox set state = 'sending', attempts = attempts + 1 where key = ? and state in ('pending', 'uncertain')`);
  const abandon = database.prepare(
    "update outbox set state = 'uncertain', reason = 'the gateway ended while it was sent', next_attempt_at = 0 where state = 'sending'",
  );
  // What was revised while it was sent is to be edited as soon as it has arrived.
  const end = database.prepare(`
    update outbox set state = iif(is_revised, 'pending', :state), message_id = :messageId, reason = :reason,
           ended_at = iif(is_revised, null, hermes_now()), is_revised = 0,
           content = iif(is_secret, '{"type":"text","text":"[a secret]"}', content) where key = :key`);
  const revise = database.prepare(`
    update outbox set content = :content, is_revised = (state in ('sending', 'uncertain')), attempts = 0, next_attempt_at = 0,
           state = iif(state in ('sent', 'failed'), 'pending', state), ended_at = null
     where source = :source and part = 0 and content <> :content`);
  const sendAnew = database.prepare(`
    update outbox set state = 'pending', message_id = null, reason = :reason, next_attempt_at = 0 where key = :key`);
  const postpone = database.prepare(`
    update outbox set state = :state, reason = :reason, next_attempt_at = hermes_now() + min(:inMs, ${LONGEST_WAIT_MS}), is_marked = max(is_marked, :isMarked)
     where key = :key`);
  const bySource = database.prepare<OutboxRow>("select * from outbox where source = ? order by part");
  const byInbox = database.prepare<OutboxRow>("select * from outbox where inbox_key = ? order by key");
  const byMessage = database.prepare<OutboxRow>(
    "select * from outbox where platform = ? and chat_id = ? and message_id = ? limit 1",
  );
  const counts = database.prepare<{ platform: string; state: OutboxState; count: number }>(
    "select platform, state, count(*) as count from outbox group by platform, state",
  );

  return {
    /** Adds the parts that are not there yet; runs inside a transaction. */
    add({
      source,
      target,
      contents,
      repliesTo,
      inboxKey,
      isSecret = false,
      isRevision,
    }: OutgoingMessage): void {
      if (isRevision) revise.run({ source, content: JSON.stringify(contents[0]) });
      for (const [part, content] of contents.entries())
        insert.run({
          ...{ source, part },
          id: randomBytes(12).toString("hex"),
          platform: target.platform,
          chatId: target.chatId,
          threadId: target.threadId ?? null,
          repliesTo: (part === 0 ? repliesTo : undefined) ?? null,
          content: JSON.stringify(content),
          inboxKey: inboxKey ?? null,
          isSecret: isSecret ? 1 : 0,
        });
    },
    /** The next part of each chat of a platform that may be sent now. */
    due: (platform: string, limit: number): readonly OutboxEntry[] => due.all(platform, limit).map(toEntry),
    /** When the next part becomes due; undefined if none is open. */
    nextDueAt: (platform: string): number | undefined => nextDue.get(platform)?.at ?? undefined,
    /** Marks an attempt before it is made; false if another one has changed the part meanwhile. */
    begin: (key: number, signal: AbortSignal): Promise<boolean> =>
      database.write(() => start.run(key).changes === 1, signal),
    /** What an earlier process was sending when it was killed has an unknown end. */
    abandonAll: (signal: AbortSignal): Promise<number> => database.write(() => abandon.run().changes, signal),
    end: (
      key: number,
      state: "sent" | "failed",
      {
        messageId,
        reason,
      }: { readonly messageId?: string | undefined; readonly reason?: string | undefined },
      signal: AbortSignal,
    ): Promise<void> =>
      database.write(
        () => void end.run({ key, state, messageId: messageId ?? null, reason: reason ?? null }),
        signal,
      ),
    postpone: (
      key: number,
      state: "pending" | "uncertain",
      {
        reason,
        inMs,
        isMarked = false,
      }: { readonly reason: string; readonly inMs: number; readonly isMarked?: boolean },
      signal: AbortSignal,
    ): Promise<void> =>
      database.write(
        () => void postpone.run({ key, state, reason, inMs, isMarked: isMarked ? 1 : 0 }),
        signal,
      ),
    /** The message of a part cannot be edited any more: the part becomes a message of its own. */
    sendAnew: (key: number, reason: string, signal: AbortSignal): Promise<void> =>
      database.write(() => void sendAnew.run({ key, reason }), signal),
    ofSource: (source: string): readonly OutboxEntry[] => bySource.all(source).map(toEntry),
    ofInbox: (key: number): readonly OutboxEntry[] => byInbox.all(key).map(toEntry),
    /** The part that became a message of a chat. */
    findSent(platform: string, chatId: string, messageId: string): OutboxEntry | undefined {
      const row = byMessage.get(platform, chatId, messageId);
      return row && toEntry(row);
    },
    counts: () => counts.all(),
  };
}

function toEntry(row: OutboxRow): OutboxEntry {
  return {
    key: row.key,
    source: row.source,
    platform: row.platform,
    part: {
      id: row.id,
      chat: { chatId: row.chat_id, threadId: row.thread_id ?? undefined },
      repliesTo: row.replies_to ?? undefined,
      content: JSON.parse(row.content) as OutboundPart["content"],
      createdAt: row.created_at,
    },
    state: row.state,
    isMarked: row.is_marked === 1,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    messageId: row.message_id ?? undefined,
    reason: row.reason ?? undefined,
    inboxKey: row.inbox_key ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}
