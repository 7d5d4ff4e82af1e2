import type { AgentEvent, AgentEventOf } from "../agent/events.ts";
import { createDecisionWriter } from "../approvals/decision-log.ts";
import { AppError } from "../lib/errors.ts";
import type { Database } from "../lib/sqlite/database.ts";
import { type AssistantMessage, toolCallsOf, type UserMessage } from "../providers/message.ts";
import { NO_USAGE, type Usage } from "../providers/provider.ts";
import { createTitleNumberer, parseTitle } from "./changes/session-title.ts";
import { createCompactionWriter } from "./rows/compaction-rows.ts";
import type { PrefixStore } from "./rows/prefix-store.ts";
import { modelColumns } from "./rows/session-rows.ts";
import type { SessionDraft } from "./session.ts";

/** Writes the rows of an event, inside the caller's transaction; throws if the event contradicts the transcript. */
export type RecordEvent = (session: string | SessionDraft, event: AgentEvent) => void;

interface TurnRow {
  readonly key: number;
  readonly id: string;
}

/** Whether an event changes the conversation and must therefore be stored before it is passed on. */
export function isDurable(event: AgentEvent): boolean {
  return DURABLE.has(event.type);
}

const DURABLE: ReadonlySet<AgentEvent["type"]> = new Set([
  "turn-start",
  "request-sent",
  "attempt-failed",
  "route-switched",
  "call-reviewed",
  "assistant",
  "tools-start",
  "tool-end",
  "steer",
  "compaction",
  "compaction-failed",
  "turn-end",
]);

export function createEventRecorder(database: Database, prefixes: PrefixStore): RecordEvent {
  const findSession = database.prepare<{ key: number }>("select key from session where id = ?");
  const insertSession = database.prepare<{ key: number }>(`
    insert into session (id, source, title, parent_key, cwd, provider, model, created_at, active_at, system_prompt, tools_json, base_url, keeps_address, api_mode)
    values (:id, :source, :title, (select key from session where id = :parent), :cwd, :provider, :model,
            hermes_now(), hermes_now(), :systemPrompt, :toolsJson, :baseUrl, :keepsAddress, :apiMode) returning key`);
  const touchSession = database.prepare(
    "update session set active_at = hermes_now(), archived_at = null where key = ?",
  );
  const findOpenTurn = database.prepare<TurnRow>(
    "select key, id from turn where session_key = ? and outcome is null",
  );
  const insertTurn = database.prepare<{ key: number }>(
    "insert into turn (session_key, id, started_at) values (?, ?, hermes_now()) returning key",
  );
  const endTurn = database.prepare(
    "update turn set ended_at = hermes_now(), outcome = :outcome, reason = :reason, hint = :hint where key = :key",
  );
  const insertMessage = database.prepare<{ key: number }>(`
    insert into message (turn_key, position, role, kind, created_at, body, untrusted)
    values (:turnKey, (select coalesce(max(position) + 1, 0) from message where turn_key = :turnKey),
            :role, :kind, hermes_now(), :body, :untrusted) returning key`);
  const insertCall = database.prepare(`
    insert into tool_call (session_key, message_key, position, call_id, tool)
    values (:sessionKey, :messageKey, :position, :callId, :tool) on conflict (session_key, call_id) do nothing`);
  const findOpenCall = database.prepare<{ call_id: string }>(
    "select call_id from tool_call where session_key = ? and state <> 'ended' limit 1",
  );
  const startCall = database.prepare(
    "update tool_call set state = 'started' where session_key = ? and call_id = ? and state = 'pending'",
  );
  const endCall = database.prepare(`
    update tool_call set state = 'ended', outcome = :outcome, result_key = :resultKey, duration_ms = :durationMs, display = :display
     where session_key = :sessionKey and call_id = :callId and state <> 'ended'`);
  const insertRequest = database.prepare<{ key: number }>(`
    insert into request (session_key, turn_key, provider, model, key_source, sent_at, prefix_kept, prefix_added)
    values (:key, :turnKey, :provider, :model, :keySource, hermes_now(), :kept, :added) returning key`);
  const insertSwitch = database.prepare(`
    insert into route_switch (session_key, turn_key, switched_at, from_provider, from_model, from_key_source,
                              to_provider, to_model, to_key_source, reason, lost_cache_tokens, lost_cache_usd)
    values (?, ?, hermes_now(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertReview = database.prepare<{ key: number }>(`
    insert into request (session_key, turn_key, provider, model, sent_at, is_review)
    values (:key, :turnKey, :provider, :model, hermes_now(), 1) returning key`);
  const lastTurn = database.prepare<TurnRow>(
    "select key, id from turn where session_key = ? and undone_at is null order by key desc limit 1",
  );
  // The request of a summary has no prefix, and no message answers it.
  const lastRequest = database.prepare<{ key: number; message_key: number | null }>(`
    select key, message_key from request where turn_key = ? and (prefix_kept is not null or message_key is not null)
     order by key desc limit 1`);
  const answerRequest = database.prepare(`
    update request set message_key = :messageKey, finish = :finish, provider = :provider, model = :model
     where key = :key`);
  const countRequest = database.prepare(`
    update request set input_tokens = :inputTokens, cache_read_tokens = :cacheReadTokens, cache_write_tokens = :cacheWriteTokens,
           output_tokens = :outputTokens, reasoning_tokens = :reasoningTokens, cost_usd = :costUsd
     where key = :key`);
  const compactions = createCompactionWriter(database);
  const writeDecision = createDecisionWriter(database);
  const freeTitle = createTitleNumberer(database);

  function requireSession(id: string): number {
    const row = findSession.get(id);
    if (row !== undefined) return row.key;
    throw new AppError("session-not-found", `There is no session ${id}.`);
  }

  function create(draft: SessionDraft): number {
    const { id, source, cwd, toolsJson } = draft;
    const row = insertSession.get({
      ...{ id, source, cwd, toolsJson },
      ...modelColumns(draft),
      title: draft.title === undefined ? null : freeTitle(parseTitle(draft.title)),
      parent: draft.parent ?? null,
      systemPrompt: JSON.stringify(draft.systemPrompt),
    });
    return keyOf(row);
  }

  function addMessage(
    turnKey: number,
    message: UserMessage | AssistantMessage,
    sources: readonly string[] = [],
  ): number {
    const kind = message.role === "user" ? (message.kind ?? null) : null;
    const body = JSON.stringify(message.parts);
    const untrusted = toColumn(sources);
    return keyOf(insertMessage.get({ turnKey, role: message.role, kind, body, untrusted }));
  }

  function startTurn(session: string | SessionDraft, event: AgentEventOf<"turn-start">): void {
    const id = typeof session === "string" ? session : session.id;
    const known = findSession.get(id)?.key;
    const open = known === undefined ? undefined : findOpenTurn.get(known);
    if (open?.id !== event.interrupted?.turnId)
      throw refusedEventError(
        id,
        event,
        open === undefined ? "no turn is open" : `turn ${open.id} is still open`,
      );
    if (open !== undefined && event.interrupted !== undefined) {
      const { outcome, reason = null, answer } = event.interrupted;
      if (answer !== undefined) addMessage(open.key, answer);
      endTurn.run({ key: open.key, outcome, reason, hint: null });
    }
    const key = known ?? (typeof session === "string" ? requireSession(session) : create(session));
    const turnKey = keyOf(insertTurn.get(key, event.turnId));
    addMessage(turnKey, event.message, event.untrusted);
    touchSession.run(key);
  }

  function addAnswer(id: string, key: number, turn: TurnRow, event: AgentEventOf<"assistant">): void {
    const open = findOpenCall.get(key);
    if (open !== undefined) throw refusedEventError(id, event, `call ${open.call_id} has no result yet`);
    const messageKey = addMessage(turn.key, event.message);
    for (const [position, { callId, tool }] of toolCallsOf(event.message).entries()) {
      const added = insertCall.run({ sessionKey: key, messageKey, position, callId, tool });
      if (added.changes !== 1) throw refusedEventError(id, event, `call ${callId} already exists`);
    }
    const { provider, model, finish, usage, costUsd } = event;
    const sent = lastRequest.get(turn.key);
    const unsent = sent === undefined || sent.message_key !== null;
    const requestKey = unsent
      ? keyOf(insertRequest.get({ key, turnKey: turn.key, provider, model, ...UNSENT }))
      : sent.key;
    answerRequest.run({ key: requestKey, messageKey, provider, model, finish });
    countRequest.run(countColumns(requestKey, usage, costUsd));
  }

  function countAttempt(turn: TurnRow, { failure, costUsd }: AgentEventOf<"attempt-failed">): void {
    const sent = lastRequest.get(turn.key);
    if (sent === undefined || sent.message_key !== null) return;
    countRequest.run(countColumns(sent.key, failure.usage ?? NO_USAGE, costUsd));
  }

  function endToolCall(id: string, key: number, turn: TurnRow, event: AgentEventOf<"tool-end">): void {
    const body = JSON.stringify(event.text);
    const untrusted = toColumn(event.untrusted);
    const resultKey = keyOf(
      insertMessage.get({ turnKey: turn.key, role: "tool", kind: null, body, untrusted }),
    );
    const { callId, outcome, durationMs, display } = event;
    const ended = endCall.run({
      ...{ sessionKey: key, callId, outcome, resultKey, durationMs },
      display: display ?? null,
    });
    if (ended.changes !== 1) throw refusedEventError(id, event, `no call ${callId} is waiting for a result`);
  }

  /** A user may compact a session between two turns; the cost then counts for the last turn. */
  function compact(
    id: string,
    key: number,
    event: AgentEventOf<"compaction"> | AgentEventOf<"compaction-failed">,
  ): void {
    const open = findOpenCall.get(key);
    if (open !== undefined) throw refusedEventError(id, event, `call ${open.call_id} has no result yet`);
    const turn = lastTurn.get(key);
    if (turn === undefined) throw refusedEventError(id, event, "the session has no messages");
    const { provider, model, usage, costUsd } = event;
    if (provider !== "") {
      const asked = insertRequest.get({ key, turnKey: turn.key, provider, model, ...UNSENT });
      countRequest.run(countColumns(keyOf(asked), usage, costUsd));
    }
    if (event.type === "compaction") compactions.add(key, turn.key, event);
    else compactions.fail(key, event);
  }

  return (session, event) => {
    if (event.type === "turn-start") return startTurn(session, event);
    const id = typeof session === "string" ? session : session.id;
    const key = requireSession(id);
    if (event.type === "compaction" || event.type === "compaction-failed") return compact(id, key, event);
    const turn = findOpenTurn.get(key);
    if (turn === undefined) throw refusedEventError(id, event, "no turn is open");
    switch (event.type) {
      case "request-sent": {
        const { provider, model, keySource = null } = event;
        const prefix = prefixes.compact(key, event.prefix);
        insertRequest.get({ key, turnKey: turn.key, provider, model, keySource, ...prefix });
        return;
      }
      case "route-switched": {
        const { from, to, reason, lostCacheTokens, lostCacheUsd } = event;
        const routes = [from, to].flatMap((route) => [route.provider, route.model, route.keySource ?? null]);
        insertSwitch.run(key, turn.key, ...routes, reason, lostCacheTokens ?? null, lostCacheUsd ?? null);
        return;
      }
      case "attempt-failed":
        return countAttempt(turn, event);
      case "call-reviewed": {
        const { provider, model, usage, costUsd } = event;
        const review = keyOf(insertReview.get({ key, turnKey: turn.key, provider, model }));
        countRequest.run(countColumns(review, usage, costUsd));
        return;
      }
      case "assistant":
        return addAnswer(id, key, turn, event);
      case "tools-start":
        for (const { callId } of event.calls) {
          if (startCall.run(key, callId).changes !== 1)
            throw refusedEventError(id, event, `no call ${callId} is waiting to start`);
        }
        for (const decided of event.decisions ?? []) writeDecision(key, decided, decided.decision);
        return;
      case "tool-end":
        if (event.denied !== undefined) writeDecision(key, event.denied, event.denied.decision);
        return endToolCall(id, key, turn, event);
      case "steer":
        addMessage(turn.key, event.message);
        return;
      case "turn-end": {
        if (turn.id !== event.turnId) throw refusedEventError(id, event, `the open turn is ${turn.id}`);
        const open = findOpenCall.get(key);
        if (open !== undefined) throw refusedEventError(id, event, `call ${open.call_id} has no result yet`);
        const { outcome, reason, hint } = event;
        endTurn.run({ key: turn.key, outcome, reason: reason ?? null, hint: hint ?? null });
        touchSession.run(key);
      }
    }
  };
}

/** The columns of a request that was never sent, such as the placeholder for a missing answer. */
const UNSENT = { keySource: null, kept: null, added: null };

/** The column of a message with the sources of its untrusted text. */
function toColumn(sources: readonly string[] = []): string | null {
  return sources.length === 0 ? null : JSON.stringify(sources);
}

function countColumns(key: number, usage: Usage, costUsd: number | undefined) {
  const counts = Object.entries(usage).map(([name, count]) => [name, count ?? null]);
  return { key, ...Object.fromEntries(counts), costUsd: costUsd ?? null };
}

function keyOf(row: { readonly key: number } | undefined): number {
  if (row === undefined) throw new Error("insert returned no row");
  return row.key;
}

function refusedEventError(id: string, event: AgentEvent, why: string): AppError {
  return new AppError("session-event-refused", `Session ${id} cannot record "${event.type}": ${why}.`);
}
