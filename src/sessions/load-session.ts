import type { PendingCall } from "../agent/events.ts";
import type { Database } from "../lib/sqlite/database.ts";
import { runReadTransaction } from "../lib/sqlite/read-transaction.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolMessage,
  toolCallsOf,
  type UserMessage,
} from "../providers/message.ts";
import { createCompactionReader } from "./rows/compaction-rows.ts";
import { parseParts, parseResult } from "./rows/message-body.ts";
import type { PrefixStore } from "./rows/prefix-store.ts";
import { SUMMARY_COLUMNS, type SummaryRow, toSummary } from "./rows/session-rows.ts";
import { createUntrustedReader } from "./rows/untrusted-rows.ts";
import type { LoadedSession, OpenTurn, Session } from "./session.ts";

interface SessionRow extends SummaryRow {
  readonly key: number;
  readonly systemPrompt: string;
  readonly toolsJson: string;
  readonly shell: string | null;
  readonly baseUrl: string | null;
  readonly keepsAddress: number;
  readonly apiMode: string | null;
  readonly compactionFailures: number;
  readonly compactionRetryAt: number;
}

/** The columns of a message that `orderMessages` needs. */
export interface MessageRow {
  readonly key: number;
  readonly role: "user" | "assistant" | "tool";
  readonly kind: "steer" | null;
  readonly body: string;
}

/** The columns of a call that `orderMessages` needs. */
export interface CallRow {
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

interface AnchorRow {
  readonly message_key: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** The tools and the system prompt; a compaction changes the rest of a prefix. */
const FIXED_HASHES = 2;

/** The cost of each query depends on the length of the session, not of the store; a test checks the query plans. */
export const LOAD_SQL = {
  session: `select session.key, ${SUMMARY_COLUMNS}, session.system_prompt as systemPrompt,
    session.tools_json as toolsJson, session.shell, session.base_url as baseUrl,
    session.keeps_address as keepsAddress, session.api_mode as apiMode,
    session.compaction_failures as compactionFailures, session.compaction_retry_at as compactionRetryAt
    from session left join session as parent on parent.key = session.parent_key where session.id = ?`,
  messages: `select message.key, role, kind, body
    from turn join message on message.turn_key = turn.key
    where turn.session_key = ? and turn.undone_at is null and message.key >= ? order by turn.key, position`,
  calls: `select message_key, call_id, tool, state, outcome, result_key
    from tool_call where session_key = ? and message_key >= ? order by message_key, position`,
  anchor: `select message_key, input_tokens, output_tokens from request
    where session_key = ? and message_key is not null and finish <> 'other' order by key desc limit 1`,
  openTurn: "select id, started_at from turn where session_key = ? and outcome is null",
};

/** Loads sessions from one consistent snapshot; undefined if no session has that id. */
export function createSessionLoader(
  database: Database,
  prefixes: PrefixStore,
): (id: string) => LoadedSession | undefined {
  const findSession = database.prepare<SessionRow>(LOAD_SQL.session);
  const listMessages = database.prepare<MessageRow>(LOAD_SQL.messages);
  const listCalls = database.prepare<CallRow>(LOAD_SQL.calls);
  const findOpenTurn = database.prepare<TurnRow>(LOAD_SQL.openTurn);
  const listUntrusted = createUntrustedReader(database);
  const findAnchor = database.prepare<AnchorRow>(LOAD_SQL.anchor);
  const readCompaction = createCompactionReader(database);

  /** The size of the conversation as the provider last counted it; undefined if a compaction has replaced that part. */
  function findSize(
    row: SessionRow,
    rows: readonly MessageRow[],
    calls: ReadonlyMap<number, readonly CallRow[]>,
  ): { readonly tokens: number | undefined; readonly messages: number } | undefined {
    const last = findAnchor.get(row.key);
    const at = rows.findIndex(({ key }) => key === last?.message_key);
    if (last === undefined || at === -1) return undefined;
    const { input_tokens: input, output_tokens: output } = last;
    return {
      tokens: input === null ? undefined : input + (output ?? 0),
      messages: orderMessages(rows.slice(0, at + 1), calls).length,
    };
  }

  return (id) =>
    runReadTransaction(database, () => {
      const row = findSession.get(id);
      if (row === undefined) return undefined;
      const { fromKey, replacement, isUnsent } = readCompaction(row.key);
      const rows = listMessages.all(row.key, fromKey);
      const calls = callsByMessage(listCalls.all(row.key, fromKey));
      const open = findOpenTurn.get(row.key);
      const session = toSession(row);
      const ordered = orderMessages(rows, calls);
      const opening = [...systemMessages(session), ...replacement];
      const size = isUnsent ? undefined : findSize(row, rows, calls);
      const prefix = prefixes.lastActive(row.key);
      return {
        session,
        messages: [...opening, ...ordered.map(({ message }) => message)],
        damagedMessages: ordered.filter(({ isDamaged }) => isDamaged).length,
        compaction: {
          replaced: replacement.length,
          anchor: size && { ...size, messages: opening.length + size.messages },
          failures: row.compactionFailures,
          retryAt: row.compactionRetryAt,
        },
        openTurn: open === undefined ? undefined : toOpenTurn(open, rows, calls),
        prefix: isUnsent ? prefix.slice(0, FIXED_HASHES) : prefix,
        untrusted: listUntrusted(id),
        shell: row.shell ?? undefined,
      };
    });
}

function systemMessages({ systemPrompt }: Session): Message[] {
  return systemPrompt === "" ? [] : [{ role: "system", text: systemPrompt }];
}

function toSession({
  key: _,
  shell: __,
  compactionFailures: ___,
  compactionRetryAt: ____,
  ...row
}: SessionRow): Session {
  return {
    ...toSummary(row),
    systemPrompt: JSON.parse(row.systemPrompt) as string,
    baseUrl: row.baseUrl ?? undefined,
    keepsAddress: row.keepsAddress === 1,
    apiMode: row.apiMode ?? undefined,
  };
}

export function callsByMessage(rows: readonly CallRow[]): ReadonlyMap<number, readonly CallRow[]> {
  const calls = new Map<number, CallRow[]>();
  for (const row of rows) {
    const siblings = calls.get(row.message_key);
    if (siblings === undefined) calls.set(row.message_key, [row]);
    else siblings.push(row);
  }
  return calls;
}

/** A message of the conversation and its row. The text of a damaged message is a sentence that says so. */
export interface OrderedMessage<Row> {
  readonly row: Row;
  readonly message: UserMessage | AssistantMessage | ToolMessage;
  readonly isDamaged: boolean;
}

/** Places results after the message with their calls, in the order of the calls, not in the order of arrival. */
export function orderMessages<Row extends MessageRow>(
  rows: readonly Row[],
  calls: ReadonlyMap<number, readonly CallRow[]>,
): OrderedMessage<Row>[] {
  const results = new Map(rows.filter((row) => row.role === "tool").map((row) => [row.key, row]));
  return rows.flatMap((row): OrderedMessage<Row>[] => {
    if (row.role === "tool") return [];
    const message = toMessage(row);
    // The calls of an unreadable answer are unknown to the model, so their results are omitted too.
    if (message === undefined) return [{ row, message: toPlaceholder(row.role), isDamaged: true }];
    const ended = (calls.get(row.key) ?? []).flatMap((call) => {
      const result = call.result_key === null ? undefined : results.get(call.result_key);
      return result === undefined ? [] : [toResult(call, result)];
    });
    return [{ row, message, isDamaged: false }, ...ended];
  });
}

const DAMAGED = "[This message is damaged and cannot be read.]";

function toPlaceholder(role: "user" | "assistant"): UserMessage | AssistantMessage {
  return { role, parts: [{ type: "text", text: DAMAGED }] };
}

/** Undefined if the stored text is damaged. */
function toMessage(row: MessageRow): UserMessage | AssistantMessage | undefined {
  const parts = parseParts(row.body);
  if (parts === undefined) return undefined;
  if (row.role === "assistant") return { role: "assistant", parts: parts as AssistantMessage["parts"] };
  const message = { role: "user", parts: parts as UserMessage["parts"] } as const;
  return row.kind === null ? message : { ...message, kind: row.kind };
}

function toResult<Row extends MessageRow>(call: CallRow, row: Row): OrderedMessage<Row> {
  const text = parseResult(row.body);
  const message: ToolMessage = {
    role: "tool",
    callId: call.call_id,
    tool: call.tool,
    text: text ?? DAMAGED,
    failed: call.outcome !== "ok",
  };
  return { row, message, isDamaged: text === undefined };
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
  if (message?.role !== "assistant") return [];
  return toolCallsOf(message).flatMap((call) => {
    const state = states.get(call.callId);
    return state === "ended" ? [] : [{ call, started: state === "started" }];
  });
}
