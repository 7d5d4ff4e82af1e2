import type { Database } from "../../lib/sqlite/database.ts";
import { parseParts } from "./message-body.ts";

/** What the transcript says about a turn. */
export interface FoundTurn {
  readonly sessionId: string;
  /** Undefined if it has not ended. A turn whose answer is complete has ended, even if a crash lost the record of its end. */
  readonly outcome: string | undefined;
  readonly reason: string | undefined;
  readonly hint: string | undefined;
  /** The text of its last answer; empty if there is none. */
  readonly text: string;
}

interface TurnRow {
  readonly key: number;
  readonly session_id: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly hint: string | null;
}

interface MessageRow {
  readonly role: string;
  readonly body: string;
}

/** Finds a turn by its id in any session; `since` is a time before its start and keeps the search short. */
export function createTurnFinder(
  database: Database,
): (turnId: string, since: number) => FoundTurn | undefined {
  const find = database.prepare<TurnRow>(`
    select turn.key, session.id as session_id, outcome, reason, hint
      from turn indexed by turn_by_start join session on session.key = turn.session_key
     where turn.started_at >= ? and turn.id = ?`);
  const lastMessage = database.prepare<MessageRow>(
    "select role, body from message where turn_key = ? order by position desc limit 1",
  );
  const lastAnswer = database.prepare<MessageRow>(
    "select role, body from message where turn_key = ? and role = 'assistant' order by position desc limit 1",
  );
  return (turnId, since) => {
    const row = find.get(since, turnId);
    if (row === undefined) return undefined;
    const last = lastMessage.get(row.key);
    const parts = parseParts(lastAnswer.get(row.key)?.body ?? "[]") ?? [];
    const isComplete = last?.role === "assistant" && !parts.some(({ type }) => type === "tool-call");
    return {
      sessionId: row.session_id,
      outcome: row.outcome ?? (isComplete ? "completed" : undefined),
      reason: row.reason ?? undefined,
      hint: row.hint ?? undefined,
      text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""),
    };
  };
}
