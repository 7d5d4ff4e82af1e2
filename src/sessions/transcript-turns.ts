import type { Database } from "../lib/sqlite/database.ts";
import { runReadTransaction } from "../lib/sqlite/read-transaction.ts";
import { type AssistantMessage, textOf, toolCallsOf, type UserMessage } from "../providers/message.ts";
import { createCompactionReader } from "./rows/compaction-rows.ts";
import { parseParts, parseResult } from "./rows/message-body.ts";

/** A call of an answer, with its result. */
export interface TurnCall {
  readonly callId: string;
  readonly tool: string;
  /** JSON as the model wrote it. */
  readonly input: string;
  readonly state: "pending" | "started" | "ended";
  readonly outcome: string | undefined;
  /** A rule or a person has refused it, so it did not run. */
  readonly isDenied: boolean;
  readonly durationMs: number | undefined;
  /** Undefined while there is none, and if it cannot be read. */
  readonly result: string | undefined;
  /** What only a person sees of the result, such as a diff. */
  readonly display: string | undefined;
}

export interface TurnMessage {
  readonly key: number;
  readonly role: "user" | "assistant";
  readonly at: number;
  readonly isSteer: boolean;
  readonly text: string;
  readonly reasoning: string;
  readonly images: number;
  readonly calls: readonly TurnCall[];
  /** The stored text cannot be read. */
  readonly isDamaged: boolean;
}

/** A message of a person and everything until the answer. */
export interface TranscriptTurn {
  readonly key: number;
  readonly id: string;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly outcome: string | undefined;
  readonly reason: string | undefined;
  readonly isUndone: boolean;
  /** Whether a summary has replaced it for the model. */
  readonly isCompacted: boolean;
  readonly costUsd: number;
  readonly messages: readonly TurnMessage[];
}

export interface TurnPage {
  /** Oldest first. */
  readonly turns: readonly TranscriptTurn[];
  /** The key before which the next page ends; undefined at the beginning of the session. */
  readonly before: number | undefined;
}

export interface TurnQuery {
  /** Only turns before this key. */
  readonly before?: number | undefined;
  readonly limit: number;
}

interface TurnRow {
  readonly key: number;
  readonly id: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly undone_at: number | null;
}

interface MessageRow {
  readonly key: number;
  readonly turn_key: number;
  readonly role: "user" | "assistant";
  readonly kind: string | null;
  readonly created_at: number;
  readonly body: string;
}

interface CallRow {
  readonly message_key: number;
  readonly call_id: string;
  readonly tool: string;
  readonly state: TurnCall["state"];
  readonly outcome: string | null;
  readonly verdict: string | null;
  readonly duration_ms: number | null;
  readonly display: string | null;
  readonly result: string | null;
}

/** The cost of a page depends on its turns, not on the length of the session; a test checks the query plans. */
export const TURNS_SQL = {
  turns: `select key, id, started_at, ended_at, outcome, reason, undone_at from turn
    where session_key = :session and key < :before order by key desc limit :limit`,
  messages: `select key, turn_key, role, kind, created_at, body from message
    where turn_key in (select value from json_each(:keys)) and role <> 'tool' order by turn_key, position`,
  calls: `select message_key, call_id, tool, state, outcome, duration_ms, display, result.body as result,
      (select verdict from decision where decision.session_key = tool_call.session_key
        and decision.call_id = tool_call.call_id order by decision.key desc limit 1) as verdict
    from tool_call left join message as result on result.key = tool_call.result_key
    where message_key in (select value from json_each(:keys)) order by message_key, tool_call.position`,
  costs: `select turn_key, coalesce(sum(cost_usd), 0.0) as cost from request
    where turn_key in (select value from json_each(:keys)) group by turn_key`,
};

const LAST = Number.MAX_SAFE_INTEGER;

/** Reads a session turn by turn from its end, with undone turns; empty for an unknown session. */
export function createTurnReader(database: Database): (id: string, query: TurnQuery) => TurnPage {
  const findKey = database.prepare<{ key: number }>("select key from session where id = ?");
  const listTurns = database.prepare<TurnRow>(TURNS_SQL.turns);
  const listMessages = database.prepare<MessageRow>(TURNS_SQL.messages);
  const listCalls = database.prepare<CallRow>(TURNS_SQL.calls);
  const listCosts = database.prepare<{ turn_key: number; cost: number }>(TURNS_SQL.costs);
  const readCompaction = createCompactionReader(database);
  return (id, { before = LAST, limit }) =>
    runReadTransaction(database, () => {
      const session = findKey.get(id)?.key;
      if (session === undefined) return { turns: [], before: undefined };
      const rows = listTurns.all({ session, before, limit: limit + 1 });
      const page = rows.slice(0, limit).toReversed();
      const keys = JSON.stringify(page.map(({ key }) => key));
      const messages = listMessages.all({ keys });
      const calls = groupBy(
        listCalls.all({ keys: JSON.stringify(messages.map(({ key }) => key)) }),
        (row) => row.message_key,
      );
      const costs = new Map(listCosts.all({ keys }).map(({ turn_key, cost }) => [turn_key, cost]));
      const { fromKey } = readCompaction(session);
      const byTurn = groupBy(messages, (row) => row.turn_key);
      return {
        turns: page.map((row) => {
          const own = byTurn.get(row.key) ?? [];
          return {
            ...{ key: row.key, id: row.id, startedAt: row.started_at },
            endedAt: row.ended_at ?? undefined,
            outcome: row.outcome ?? undefined,
            reason: row.reason ?? undefined,
            isUndone: row.undone_at !== null,
            isCompacted: own.length > 0 && own.every(({ key }) => key < fromKey),
            costUsd: costs.get(row.key) ?? 0,
            messages: own.map((message) => toMessage(message, calls.get(message.key) ?? [])),
          };
        }),
        before: rows.length > limit ? page[0]?.key : undefined,
      };
    });
}

function toMessage({ key, role, kind, created_at, body }: MessageRow, rows: readonly CallRow[]): TurnMessage {
  const parts = parseParts(body);
  const message = { role, parts: parts ?? [] } as UserMessage | AssistantMessage;
  const inputs = new Map(
    message.role === "assistant" ? toolCallsOf(message).map(({ callId, input }) => [callId, input]) : [],
  );
  return {
    ...{ key, role, at: created_at, isSteer: kind === "steer", isDamaged: parts === undefined },
    text: textOf(message),
    reasoning: message.parts.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    images: message.parts.filter((part) => part.type === "image").length,
    calls: rows.map((row) => ({
      callId: row.call_id,
      tool: row.tool,
      input: inputs.get(row.call_id) ?? "",
      state: row.state,
      outcome: row.outcome ?? undefined,
      isDenied: row.verdict === "denied",
      durationMs: row.duration_ms ?? undefined,
      result: row.result === null ? undefined : parseResult(row.result),
      display: row.display ?? undefined,
    })),
  };
}

function groupBy<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => number,
): ReadonlyMap<number, readonly Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
