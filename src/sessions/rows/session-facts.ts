import type { Database } from "../../lib/sqlite/database.ts";
import { toolCallsOf } from "../../providers/message.ts";
import { parseParts, parseResult } from "./message-body.ts";

/** The newest call of a session, running or ended. */
export interface LastCall {
  readonly tool: string;
  /** JSON as the model wrote it; empty if it cannot be read. */
  readonly input: string;
  readonly at: number;
  /** Undefined while it has not ended. */
  readonly outcome: string | undefined;
}

/** A note that a running agent got. */
export interface Note {
  readonly text: string;
  readonly at: number;
}

interface CallRow {
  readonly call_id: string;
  readonly tool: string;
  readonly outcome: string | null;
  readonly created_at: number;
  readonly body: string;
}

const SESSION = "(select key from session where id = :id)";

/** The last call is sought only in the last turn, so that the cost does not depend on the length of the session. */
export const FACT_SQL = {
  lastCall: `select call_id, tool, tool_call.outcome, message.created_at, body
      from message join tool_call on tool_call.message_key = message.key
     where message.turn_key = (select max(key) from turn where session_key = ${SESSION})
     order by message.position desc, tool_call.position desc limit 1`,
  notes: `select created_at as at, body from turn join message on message.turn_key = turn.key
     where turn.session_key = ${SESSION} and message.kind = 'steer' order by message.key`,
  output: `select body from tool_call join message on message.key = tool_call.result_key
     where tool_call.session_key = ${SESSION} and call_id = :callId`,
  openTurn: `select id, started_at as startedAt from turn where session_key = ${SESSION} and outcome is null`,
};

/** Reads single facts of a session, such as its last call, without reading its whole transcript. */
export function createSessionFacts(database: Database) {
  const lastCall = database.prepare<CallRow>(FACT_SQL.lastCall);
  const notes = database.prepare<{ at: number; body: string }>(FACT_SQL.notes);
  const output = database.prepare<{ body: string }>(FACT_SQL.output);
  const openTurn = database.prepare<{ id: string; startedAt: number }>(FACT_SQL.openTurn);
  return {
    /** The whole result of a call; undefined while it has none, and if it cannot be read. */
    findOutput(id: string, callId: string): string | undefined {
      const row = output.get({ id, callId });
      return row === undefined ? undefined : parseResult(row.body);
    },
    /** The turn that has not ended; its process may have crashed. */
    findOpenTurn: (id: string): { readonly id: string; readonly startedAt: number } | undefined =>
      openTurn.get({ id }),
    findLastCall(id: string): LastCall | undefined {
      const row = lastCall.get({ id });
      if (row === undefined) return undefined;
      const parts = parseParts(row.body);
      const calls = parts === undefined ? [] : toolCallsOf({ role: "assistant", parts: parts as never });
      const input = calls.find(({ callId }) => callId === row.call_id)?.input ?? "";
      return { tool: row.tool, input, at: row.created_at, outcome: row.outcome ?? undefined };
    },
    notes: (id: string): readonly Note[] =>
      notes.all({ id }).map(({ at, body }) => ({ at, text: textIn(parseParts(body) ?? []) })),
  };
}

function textIn(parts: readonly unknown[]): string {
  return parts
    .map((part) => (part as { readonly text?: unknown }).text)
    .filter((text) => typeof text === "string")
    .join("");
}
