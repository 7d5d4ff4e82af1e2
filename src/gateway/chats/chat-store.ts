import { randomUUID } from "node:crypto";
import type { Database } from "../../lib/sqlite/database.ts";
import type { Target } from "../platform.ts";

/** One conversation with people: the session that answers in it, and where. */
export interface ChatRecord {
  readonly key: string;
  readonly sessionId: string | undefined;
  readonly target: Target;
  /** Who or what it is, for lists. */
  readonly label: string;
  /** Turns in a row that a crash has cut off. */
  readonly interruptions: number;
  /** What people have chosen in this chat. */
  readonly choices: ChatChoices;
}

export type BusyMode = "queue" | "steer" | "interrupt";

export interface ChatChoices {
  readonly footer?: boolean | undefined;
  /** What happens with a message while a turn runs. */
  readonly busy?: BusyMode | undefined;
}

/** A turn that answers one or more messages of a chat. */
export interface ChatTurn {
  readonly id: string;
  readonly chatKey: string;
  readonly sessionId: string | undefined;
  readonly state: "running" | "ended" | "void";
  readonly outcome: string | undefined;
  /** The turn that a crash cut off and that this one continues. */
  readonly resumes: string | undefined;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
}

interface ChatRow {
  readonly key: string;
  readonly session_id: string | null;
  readonly platform: string;
  readonly chat_id: string;
  readonly thread_id: string | null;
  readonly label: string;
  readonly interruptions: number;
  readonly choices: string;
}

interface TurnRow {
  readonly id: string;
  readonly chat_key: string;
  readonly session_id: string | null;
  readonly state: ChatTurn["state"];
  readonly outcome: string | null;
  readonly resumes: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
}

export type ChatStore = ReturnType<typeof createChatStore>;

/** The chats with their sessions and turns. The database allows one running turn per chat. */
export function createChatStore(database: Database) {
  const upsert = database.prepare(`
    insert into chat (key, platform, chat_id, thread_id, label, used_at)
    values (:key, :platform, :chatId, :threadId, :label, hermes_now())
    on conflict (key) do update set label = excluded.label, used_at = excluded.used_at`);
  const find = database.prepare<ChatRow>("select * from chat where key = ?");
  const list = database.prepare<ChatRow>("select * from chat order by used_at desc limit ?");
  const setSession = database.prepare(
    "update chat set session_id = :sessionId, interruptions = 0 where key = :key",
  );
  const lastActive = database.prepare<{ at: number | null }>(
    "select max(used_at, coalesce((select max(ended_at) from turn where chat_key = key), 0)) as at from chat where key = ?",
  );
  const sessionsOf = database.prepare<{ session_id: string; at: number }>(`
    select session_id, max(started_at) as at from turn where chat_key = ? and session_id is not null
     group by session_id order by at desc limit ?`);
  const setChoices = database.prepare("update chat set choices = :choices where key = :key");
  const waitingChats = database.prepare<{ chat_key: string }>(
    "select distinct chat_key from inbox where state = 'waiting' and chat_key not in (select chat_key from turn where state = 'running')",
  );
  const hasWaiting = database.prepare<{ one: 1 }>(
    "select 1 as one from inbox where chat_key = ? and state = 'waiting' limit 1",
  );
  const insertTurn = database.prepare(`
    insert into turn (id, chat_key, session_id, resumes, started_at)
    values (:id, :chatKey, (select session_id from chat where key = :chatKey), :resumes, hermes_now())`);
  const take = database.prepare(
    "update inbox set state = 'running', turn_id = :id where chat_key = :chatKey and state in ('waiting', 'noted') and turn_id is null",
  );
  const move = database.prepare(
    "update inbox set turn_id = :id where turn_id = :resumes and state = 'running'",
  );
  const attach = database.prepare("update inbox set state = 'running', turn_id = :turnId where key = :key");
  const setTurnSession = database.prepare("update turn set session_id = :sessionId where id = :id");
  const adoptSession = database.prepare("update chat set session_id = :sessionId where key = :key");
  const endTurn = database.prepare(
    "update turn set state = 'ended', outcome = :outcome, ended_at = hermes_now() where id = :id and state = 'running'",
  );
  const markStopped = database.prepare(
    "update turn set outcome = 'stopped' where id = ? and state = 'running'",
  );
  const voidTurn = database.prepare(
    "update turn set state = 'void', ended_at = hermes_now() where id = ? and state = 'running'",
  );
  const settleMessages = database.prepare(
    "update inbox set state = :state, reason = :reason where turn_id = :id and state = 'running'",
  );
  const giveBack = database.prepare(
    "update inbox set state = 'waiting', turn_id = null where turn_id = ? and state = 'running'",
  );
  const setInterruptions = database.prepare("update chat set interruptions = :count where key = :key");
  const running = database.prepare<TurnRow>("select * from turn where state = 'running' order by started_at");
  const turnById = database.prepare<TurnRow>("select * from turn where id = ?");

  return {
    /** Records that the chat was used; runs inside a transaction. */
    use(key: string, { platform, chatId, threadId }: Target, label: string): void {
      upsert.run({ key, platform, chatId, threadId: threadId ?? null, label });
    },
    find: (key: string): ChatRecord | undefined => toChat(find.get(key)),
    list: (limit: number): readonly ChatRecord[] => list.all(limit).flatMap((row) => toChat(row) ?? []),
    /** Chats in which a message waits and no turn runs. */
    waiting: (): readonly string[] => waitingChats.all().map(({ chat_key }) => chat_key),
    hasWaiting: (chatKey: string): boolean => hasWaiting.get(chatKey) !== undefined,
    /** The next message starts a new session; runs inside a transaction. */
    resetSession(key: string): void {
      setSession.run({ key, sessionId: null });
    },
    /** When the chat was last written in or a turn of it ended; undefined if it is new. */
    lastActiveAt: (key: string): number | undefined => lastActive.get(key)?.at ?? undefined,
    /** The sessions that have answered in a chat, the latest first. */
    sessionsOf: (key: string, limit: number): readonly { readonly id: string; readonly at: number }[] =>
      sessionsOf.all(key, limit).map(({ session_id: id, at }) => ({ id, at })),
    /** The next message continues a session; runs inside a transaction. */
    setSession(key: string, sessionId: string): void {
      setSession.run({ key, sessionId });
    },
    /** Changes what people have chosen in a chat; runs inside a transaction. */
    choose(key: string, change: ChatChoices): void {
      const chosen = { ...toChat(find.get(key))?.choices, ...change };
      setChoices.run({ key, choices: JSON.stringify(chosen) });
    },
    /** Opens a turn for everything that waits in a chat, before anything is done; undefined if nothing waits. */
    begin: (chatKey: string, signal: AbortSignal): Promise<string | undefined> =>
      database.write(() => {
        if (hasWaiting.get(chatKey) === undefined) return undefined;
        const id = randomUUID();
        insertTurn.run({ id, chatKey, resumes: null });
        take.run({ id, chatKey });
        return id;
      }, signal),
    /** Replaces a turn that a crash has cut off by one that continues it, and counts that before it is tried. */
    continueTurn: ({ id: resumes, chatKey }: ChatTurn, signal: AbortSignal): Promise<string> =>
      database.write(() => {
        const id = randomUUID();
        const count = (find.get(chatKey)?.interruptions ?? 0) + 1;
        endTurn.run({ id: resumes, outcome: "interrupted" });
        setInterruptions.run({ key: chatKey, count });
        insertTurn.run({ id, chatKey, resumes });
        move.run({ id, resumes });
        return id;
      }, signal),
    /** The session in which a turn runs is the session of its chat from now on. */
    adopt: (
      { id, chatKey }: Pick<ChatTurn, "id" | "chatKey">,
      sessionId: string,
      signal: AbortSignal,
    ): Promise<void> =>
      database.write(() => {
        setTurnSession.run({ id, sessionId });
        adoptSession.run({ key: chatKey, sessionId });
      }, signal),
    /** Ends a turn and its messages; runs inside a transaction, together with the answer. */
    end({ id, chatKey }: Pick<ChatTurn, "id" | "chatKey">, outcome: string, reason?: string): void {
      if (endTurn.run({ id, outcome }).changes !== 1) return;
      settleMessages.run({ id, state: reason === undefined ? "done" : "failed", reason: reason ?? null });
      if (outcome === "completed") setInterruptions.run({ key: chatKey, count: 0 });
    },
    /** The message is a note to a running turn; runs inside a transaction. */
    attach(key: number, turnId: string): void {
      attach.run({ key, turnId });
    },
    /** A person wants the turn to end. */
    markStopped: (id: string, signal: AbortSignal): Promise<void> =>
      database.write(() => void markStopped.run(id), signal),
    /** The turn never reached its session: its messages wait again. */
    giveBack: (id: string, signal: AbortSignal): Promise<void> =>
      database.write(() => {
        giveBack.run(id);
        voidTurn.run(id);
      }, signal),
    running: (): readonly ChatTurn[] => running.all().map(toTurn),
    findTurn(id: string): ChatTurn | undefined {
      const row = turnById.get(id);
      return row && toTurn(row);
    },
  };
}

function toChat(row: ChatRow | undefined): ChatRecord | undefined {
  if (row === undefined) return undefined;
  return {
    key: row.key,
    sessionId: row.session_id ?? undefined,
    target: { platform: row.platform, chatId: row.chat_id, threadId: row.thread_id ?? undefined },
    label: row.label,
    interruptions: row.interruptions,
    choices: JSON.parse(row.choices) as ChatChoices,
  };
}

function toTurn(row: TurnRow): ChatTurn {
  return {
    id: row.id,
    chatKey: row.chat_key,
    sessionId: row.session_id ?? undefined,
    state: row.state,
    outcome: row.outcome ?? undefined,
    resumes: row.resumes ?? undefined,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
  };
}
