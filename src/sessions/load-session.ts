import type { Database } from "../lib/database.ts";
import type { AssistantMessage, Message, ToolMessage, UserMessage } from "../providers/message.ts";
import { toolCallsOf } from "../providers/message.ts";
import type { PrefixStore } from "./prefix-store.ts";
import { readTogether } from "./read-together.ts";
import type { LoadedSession, OpenTurn, PendingCall, Session } from "./session.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "./session-rows.ts";

interface SessionRow extends SummaryRow {
  readonly key: number;
  readonly system_prompt: string;
  readonly tools_json: string;
  readonly shell: string | null;
  readonly base_url: string | null;
}

interface MessageRow {
  readonly key: number;
  readonly role: "user" | "assistant" | "tool";
  readonly kind: "steer" | null;
  readonly body: string;
}

interface CallRow {
  readonly message_key: number;
  readonly call_id: string;
  readonly tool: string;
  readonly state: "pending" | "started" | "ended";
  readonly outcome: string | null;
  readonly result_key: number | null;
}

interface TurnRow {
  readonly id: string;
  readonly started_at: number;
}

/** What one look at a session costs is its own length, never that of the store; a test reads the plans of these. */
export const LOAD_SQL = {
  session: `select session.key, ${SUMMARY_COLUMNS}, session.system_prompt, session.tools_json, session.shell, session.base_url
    from session left join session as parent on parent.key = session.parent_key where session.id = ?`,
  messages: `select message.key, role, kind, body
    from turn join message on message.turn_key = turn.key where turn.session_key = ? order by turn.key, position`,
  calls: `select message_key, call_id, tool, state, outcome, result_key
    from tool_call where session_key = ? order by message_key, position`,
  openTurn: "select id, started_at from turn where session_key = ? and outcome is null",
};

/** Reads a session as it is at one moment; undefined when there is none of that id. */
export function createSessionLoader(
  database: Database,
  prefixes: PrefixStore,
): (id: string) => LoadedSession | undefined {
  const findSession = database.prepare<SessionRow>(LOAD_SQL.session);
  const listMessages = database.prepare<MessageRow>(LOAD_SQL.messages);
  const listCalls = database.prepare<CallRow>(LOAD_SQL.calls);
  const findOpenTurn = database.prepare<TurnRow>(LOAD_SQL.openTurn);

  return (id) =>
    readTogether(database, () => {
      const row = findSession.get(id);
      if (row === undefined) return undefined;
      const rows = listMessages.all(row.key);
      const calls = callsByMessage(listCalls.all(row.key));
      const open = findOpenTurn.get(row.key);
      const session = toSession(row);
      return {
        session,
        messages: toMessages(session.systemPrompt, rows, calls),
        openTurn: open === undefined ? undefined : toOpenTurn(open, rows, calls),
        prefix: prefixes.last(row.key),
        shell: row.shell ?? undefined,
      };
    });
}

function toSession(row: SessionRow): Session {
  return {
    ...toSummary(row),
    systemPrompt: JSON.parse(row.system_prompt) as string,
    toolsJson: row.tools_json,
    baseUrl: row.base_url ?? undefined,
  };
}

function callsByMessage(rows: readonly CallRow[]): ReadonlyMap<number, readonly CallRow[]> {
  const calls = new Map<number, CallRow[]>();
  for (const row of rows) {
    const siblings = calls.get(row.message_key);
    if (siblings === undefined) calls.set(row.message_key, [row]);
    else siblings.push(row);
  }
  return calls;
}

/** Results stand where their calls are, in whichever order they came. */
function toMessages(
  systemPrompt: string,
  rows: readonly MessageRow[],
  calls: ReadonlyMap<number, readonly CallRow[]>,
): Message[] {
  const results = new Map(rows.filter((row) => row.role === "tool").map((row) => [row.key, row.body]));
  const messages: Message[] = systemPrompt === "" ? [] : [{ role: "system", text: systemPrompt }];
  for (const row of rows) {
    if (row.role === "tool") continue;
    messages.push(toMessage(row));
    for (const call of calls.get(row.key) ?? []) {
      const body = call.result_key === null ? undefined : results.get(call.result_key);
      if (body !== undefined) messages.push(toResult(call, body));
    }
  }
  return messages;
}

function toMessage(row: MessageRow): UserMessage | AssistantMessage {
  if (row.role === "assistant")
    return { role: "assistant", parts: JSON.parse(row.body) as AssistantMessage["parts"] };
  const parts = JSON.parse(row.body) as UserMessage["parts"];
  return row.kind === null ? { role: "user", parts } : { role: "user", parts, kind: row.kind };
}

function toResult(call: CallRow, body: string): ToolMessage {
  return {
    role: "tool",
    callId: call.call_id,
    tool: call.tool,
    text: JSON.parse(body) as string,
    failed: call.outcome !== "ok",
  };
}

function toOpenTurn(
  turn: TurnRow,
  rows: readonly MessageRow[],
  calls: ReadonlyMap<number, readonly CallRow[]>,
): OpenTurn {
  return {
    turnId: turn.id,
    startedAt: turn.started_at,
    pendingCalls: rows.flatMap((row) => (row.role === "assistant" ? pendingOf(row, calls) : [])),
  };
}

function pendingOf(row: MessageRow, calls: ReadonlyMap<number, readonly CallRow[]>): PendingCall[] {
  const states = new Map((calls.get(row.key) ?? []).map((call) => [call.call_id, call.state]));
  if ([...states.values()].every((state) => state === "ended")) return [];
  const message = toMessage(row);
  if (message.role !== "assistant") return [];
  return toolCallsOf(message).flatMap((call) => {
    const state = states.get(call.callId);
    return state === "ended" ? [] : [{ call, started: state === "started" }];
  });
}
