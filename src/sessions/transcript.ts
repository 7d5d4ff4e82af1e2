import type { Database } from "../lib/sqlite/database.ts";
import {
  type CallRow,
  callsByMessage,
  type MessageRow,
  type OrderedMessage,
  orderMessages,
} from "./load-session.ts";
import { createCompactionReader } from "./rows/compaction-rows.ts";

/** One message as a person reads it. */
export interface TranscriptEntry extends Pick<OrderedMessage<unknown>, "message" | "isDamaged"> {
  /** Counts the messages that the model sees, from 1; undefined in an undone turn. */
  readonly number: number | undefined;
  readonly createdAt: number;
  /** Whether a summary has replaced the message for the model. */
  readonly isCompacted: boolean;
  /** What only the user saw of a result, such as a diff. */
  readonly display: string | undefined;
}

/** A message with the keys of its rows, for copying. */
export interface KeyedEntry extends TranscriptEntry {
  readonly key: number;
  readonly turnKey: number;
}

interface EntryRow extends MessageRow {
  readonly turn_key: number;
  readonly created_at: number;
  readonly undone_at: number | null;
}

interface DisplayedCall extends CallRow {
  readonly display: string | null;
}

export type ReadTranscript = (sessionKey: number) => readonly KeyedEntry[];

/** Reads all messages of a session in conversation order, with those of undone turns; runs in the caller's transaction. */
export function createTranscriptReader(database: Database): ReadTranscript {
  const listMessages = database.prepare<EntryRow>(`
    select message.key, role, kind, body, turn_key, created_at, undone_at
      from turn join message on message.turn_key = turn.key where turn.session_key = ? order by turn.key, position`);
  const listCalls = database.prepare<DisplayedCall>(`
    select message_key, call_id, tool, state, outcome, result_key, display
      from tool_call where session_key = ? order by message_key, position`);
  const readCompaction = createCompactionReader(database);
  return (sessionKey) => {
    const { fromKey } = readCompaction(sessionKey);
    const rows = listMessages.all(sessionKey);
    const calls = listCalls.all(sessionKey);
    const displays = new Map(calls.map(({ result_key, display }) => [result_key, display]));
    let number = 0;
    return orderMessages(rows, callsByMessage(calls)).map(({ row, message, isDamaged }) => ({
      number: row.undone_at === null ? ++number : undefined,
      key: row.key,
      turnKey: row.turn_key,
      createdAt: row.created_at,
      isCompacted: row.key < fromKey,
      message,
      isDamaged,
      display: displays.get(row.key) ?? undefined,
    }));
  };
}
