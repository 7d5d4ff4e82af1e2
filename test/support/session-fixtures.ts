import type { AgentEvent, AgentEventOf, ToolOutcome } from "../../src/agent/events.ts";
import { readOwnIdentity } from "../../src/lib/process/process-identity.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import type { AssistantMessage, ToolCallPart, UserMessage } from "../../src/providers/message.ts";
import type { NewSession, SessionDraft } from "../../src/sessions/session.ts";
import type { SessionStore } from "../../src/sessions/session-store.ts";

export const NEW_SESSION: NewSession = {
  source: "cli",
  cwd: "/work",
  provider: "scripted",
  model: "m-1",
  baseUrl: "",
  keepsAddress: false,
  apiMode: undefined,
  systemPrompt: "You help.",
  toolsJson: '[{"name":"terminal"}]',
};

export const NO_USAGE: AgentEventOf<"assistant">["usage"] = {
  inputTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
  outputTokens: undefined,
  reasoningTokens: undefined,
};

export function user(text: string): UserMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

export function call(callId: string, input = "{}"): ToolCallPart {
  return { type: "tool-call", callId, tool: "terminal", input };
}

export function turnStart(turnId: string, text: string): AgentEvent {
  return { type: "turn-start", turnId, message: user(text) };
}

export function assistant(
  text: string,
  calls: readonly ToolCallPart[] = [],
  more: Partial<AgentEventOf<"assistant">> = {},
): AgentEvent {
  const parts: AssistantMessage["parts"] = text === "" ? calls : [{ type: "text", text }, ...calls];
  return {
    type: "assistant",
    message: { role: "assistant", parts },
    finish: calls.length === 0 ? "stop" : "tool-calls",
    usage: NO_USAGE,
    costUsd: undefined,
    provider: "scripted",
    model: "m-1",
    ...more,
  };
}

export function toolEnd(callId: string, text: string, outcome: ToolOutcome = "ok"): AgentEvent {
  return { type: "tool-end", callId, tool: "terminal", outcome, text, durationMs: 1 };
}

export function requestSent(prefix: readonly string[]): AgentEvent {
  return { type: "request-sent", provider: "scripted", model: "m-1", prefix };
}

export function turnEnd(turnId: string): AgentEvent {
  return {
    type: "turn-end",
    turnId,
    outcome: "completed",
    text: "",
    reason: undefined,
    hint: undefined,
    requests: 1,
    usage: NO_USAGE,
    costUsd: undefined,
  };
}

/** Records events as the holder of the session's turn, and releases the turn afterwards. */
export async function recordAll(
  store: SessionStore,
  session: string | SessionDraft,
  events: readonly AgentEvent[],
): Promise<void> {
  await using turn = await store.acquireTurn(session, await readOwnIdentity(neverAborted), neverAborted);
  for (const event of events) await turn.record(event, neverAborted);
}

/** Stores a session of one question and its answer. */
export async function converse(
  store: SessionStore,
  question: string,
  answer: string,
  more: Partial<NewSession> = {},
): Promise<string> {
  const draft = store.createSession({ ...NEW_SESSION, ...more });
  await recordAll(store, draft, [turnStart("t1", question), assistant(answer), turnEnd("t1")]);
  return draft.id;
}
