import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentEvent, AgentEventOf } from "../../src/agent/events.ts";
import { runTurn, type Turn } from "../../src/agent/run-turn.ts";
import { VIEWS } from "../../src/cli/commands/chat/run-views.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { type HttpClient, openHttpClient } from "../../src/lib/http/http-client.ts";
import { type Clock, systemClock } from "../../src/lib/time/clock.ts";
import { type RetryingModel, withRetries } from "../../src/providers/failures/with-retries.ts";
import {
  type Message,
  type ToolMessage,
  toolCallsOf,
  type UserMessage,
} from "../../src/providers/message.ts";
import { openModel } from "../../src/providers/open-model.ts";
import type { Model } from "../../src/providers/provider.ts";
import { findProviderProfile, PROVIDER_PROFILES } from "../../src/providers/routes/profiles.ts";
import { resolveRoute } from "../../src/providers/routes/resolve-route.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { OPEN_GATE } from "../support/call-gates.ts";
import { storedSettings } from "../support/route-settings.ts";
import { scale } from "../support/scale.ts";
import { TurnableClock } from "../support/turnable-clock.ts";
import type { WireMessage } from "../support/wire-messages.ts";
import { ANTHROPIC_ROWS } from "./anthropic-rows.ts";
import { CHAT_ROWS } from "./chat-rows.ts";
import { GOOGLE_ROWS } from "./google-rows.ts";
import type { HostileRow, Reply } from "./hostile-row.ts";
import { HAS_ZSTD, type HostileServer, startHostileServer } from "./hostile-server.ts";
import { OLLAMA_ROWS } from "./ollama-rows.ts";
import { RESPONSES_ROWS } from "./responses-rows.ts";

const PROVIDERS = {
  chat: distinct(providersOf("chat_completions")),
  anthropic: [...providersOf("anthropic_messages"), "custom"],
  responses: ["openai-api", "xai", "lmstudio", "custom"],
  google: [...providersOf("google_generate"), "custom"],
  ollama: ["ollama", "custom"],
};
const API_MODES = {
  chat: "chat_completions",
  anthropic: "anthropic_messages",
  responses: "codex_responses",
  google: "google_generate",
  ollama: "ollama_chat",
} as const;
/** Longer than the stale timeout of every provider. */
const SILENCE_MS = 1_000_000;

let server: HostileServer;
let http: HttpClient;
beforeAll(async () => {
  server = await startHostileServer();
  http = openHttpClient({ proxy: {} });
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

describe.each([
  ["chat completions", CHAT_ROWS],
  ["Anthropic's format", ANTHROPIC_ROWS],
  ["the Responses API", RESPONSES_ROWS],
  ["Gemini's format", GOOGLE_ROWS],
  ["Ollama's API", OLLAMA_ROWS],
] as const)("a server with %s", (_, rows) => {
  const known = rows.filter(({ zstd }) => zstd === undefined || zstd === HAS_ZSTD);
  test.concurrent.each(known.map((row, index) => [row.who, row.does, row, index] as const))(
    "%s: %s",
    async (_who, _does, row, index) => {
      await Promise.all(
        PROVIDERS[row.format].map((provider) => runRow(row, provider, `${row.format}${index}`)),
      );
    },
  );
});

/** Runs a turn against the row's server, and another turn in the same conversation after the server has recovered. */
async function runRow(row: HostileRow, provider: string, name: string): Promise<void> {
  const { replies, prints = "", reads, requests = replies.length } = row;
  let hasRecovered = false;
  const clock = new TurnableClock();
  const waited = new AbortController();
  const guest = server.invite(`${name}-${provider}`, (index): Reply => {
    const reply = hasRecovered ? RECOVERED[row.format] : replies[Math.min(index, replies.length - 1)];
    if (replies.length > 1 && (reply?.ends === "hang" || reply?.unanswered === "hang"))
      advanceUntil(clock, waited.signal);
    return reply ?? RECOVERED[row.format];
  });
  const model = withRetries(await modelOf(provider, row.format, guest.url, clock), {
    maxRetries: 3,
    showsText: false,
    // The waits between attempts have their own tests.
    clock: { now: () => clock.now(), sleep: async () => waited.abort() },
    random: () => 0,
  });
  const history: Message[] = [{ role: "system", text: "You are a test." }];

  const first = await run(model, history, "go");
  const reason = reads?.replaceAll("{provider}", provider);
  expect(first.end, `${provider} with ${row.does}`).toMatchObject({ outcome: row.outcome, text: prints });
  expect(first.end.reason).toBe(reason);
  expect(first.printed).toEqual(prints === "" ? [] : [prints]);
  expect(first.notices).toEqual(reason === undefined ? [] : [`hermes: ${reason}\n  ${first.end.hint}`]);
  expect(guest.requests).toHaveLength(requests);
  if (row.calls !== undefined) expect(first.calls).toBe(row.calls);

  hasRecovered = true;
  const second = await run(model, history, "and now?");
  expect(second.end).toMatchObject({ outcome: "completed", text: "Well." });
  for (const messages of guest.requests) expectValid(messages);
}

/** Advances the clock until the signal aborts. */
function advanceUntil(clock: TurnableClock, signal: AbortSignal): void {
  const timer = setInterval(() => void clock.advance(SILENCE_MS), 50);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

async function run(model: RetryingModel, history: Message[], text: string) {
  const printed: string[] = [];
  const notices: string[] = [];
  const terminal = {
    print: (line: string) => void printed.push(line),
    note: (line: string) => void notices.push(line),
  } as Terminal;
  const view = VIEWS.quiet(terminal, { sessionId: undefined });
  const message: UserMessage = { role: "user", parts: [{ type: "text", text }] };
  const events: AgentEvent[] = [];
  for await (const event of runTurn(turnOf(model, history, message), AbortSignal.timeout(60_000)))
    events.push(event);
  const end = events.at(-1) as AgentEventOf<"turn-end">;
  view.end({ end, outcome: end.outcome, text: end.text, durationMs: 0 });
  history.push(...messagesOf(events));
  const calls = events.filter(({ type }) => type === "tool-end").length;
  return { end, printed, notices, calls };
}

async function modelOf(
  provider: string,
  format: HostileRow["format"],
  url: string,
  clock: Clock,
): Promise<Model> {
  const settings = storedSettings({
    provider,
    default: "m",
    base_url: url,
    api_key: "key-of-the-server",
    api_mode: API_MODES[format],
  });
  return openModel(
    resolveRoute(settings, {}, () => undefined),
    { http, clock, cacheTtl: "5m" },
  );
}

const TERMINAL: Tool = {
  name: "terminal",
  toolset: "terminal",
  description: "Runs a command",
  inputSchema: { type: "object" },
  mutates: true,
  call: async () => ({ failed: false, text: "ran" }),
};

function turnOf(model: RetryingModel, history: readonly Message[], message: UserMessage): Turn {
  const { name, description, inputSchema } = TERMINAL;
  return {
    turnId: "t1",
    ask: (request, signal) => model.stream(request, signal),
    onAnswer: () => undefined,
    model,
    rules: { tools: new Map([[name, TERMINAL]]), gate: OPEN_GATE, fit: async (text) => text },
    definitions: [{ name, description, inputSchema }],
    history,
    message,
    interrupted: undefined,
    lastPrefix: [],
    compaction: undefined,
    limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined },
    haltsLoops: false,
    maxDenials: 3,
    endsUnanswered: false,
    clock: systemClock,
    lookUp: async () => undefined,
    takeSteers: () => [],
    takeSpent: () => [],
  };
}

/** The messages that a turn adds to the conversation, with results in the order of their calls. */
function messagesOf(events: readonly AgentEvent[]): Message[] {
  const results = new Map<string, ToolMessage>();
  for (const event of events)
    if (event.type === "tool-end")
      results.set(event.callId, { role: "tool", ...event, failed: event.outcome !== "ok" });
  return events.flatMap((event): Message[] => {
    if (event.type === "turn-start") return event.message === undefined ? [] : [event.message];
    if (event.type === "steer") return [event.message];
    if (event.type !== "assistant") return [];
    return [event.message, ...toolCallsOf(event.message).flatMap(({ callId }) => results.get(callId) ?? [])];
  });
}

/** Checks that user and assistant alternate, that no message is empty, and that each call has its result. */
function expectValid(messages: readonly WireMessage[]): void {
  const open = new Set<string>();
  let previous = "";
  for (const message of messages) {
    const { role, content, tool_calls: calls = [], function_call: functionCall } = message;
    const isResult = role === "tool" || role === "function";
    if (!isResult) expect(role).not.toBe(previous);
    if (role === "user") expect(open).toEqual(new Set());
    if (role !== "assistant" || (calls.length === 0 && !functionCall)) expect(content).not.toBe("");
    if (Array.isArray(content)) expect(content).not.toEqual([]);
    for (const { id } of calls) open.add(id);
    if (functionCall) open.add(functionCall.name);
    const answered = role === "function" ? message.name : message.tool_call_id;
    if (isResult) expect(open.delete(answered ?? "")).toBe(true);
    previous = role;
  }
}

const chunk = (delta: object, reason: string | null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const RECOVERED: { readonly [Format in HostileRow["format"]]: Reply } = {
  chat: { body: [chunk({ content: "Well." }, "stop"), "data: [DONE]\n\n"] },
  anthropic: {
    headers: { "content-type": "application/json" },
    body: [JSON.stringify({ content: [{ type: "text", text: "Well." }], stop_reason: "end_turn" })],
  },
  ollama: {
    headers: { "content-type": "application/json" },
    body: [JSON.stringify({ message: { content: "Well." }, done: true })],
  },
  google: {
    headers: { "content-type": "application/json" },
    body: [
      JSON.stringify({ candidates: [{ content: { parts: [{ text: "Well." }] }, finishReason: "STOP" }] }),
    ],
  },
  responses: {
    headers: { "content-type": "application/json" },
    body: [
      JSON.stringify({
        status: "completed",
        output: [{ type: "message", content: [{ type: "output_text", text: "Well." }] }],
      }),
    ],
  },
};

function providersOf(apiMode: string): string[] {
  return Object.entries(PROVIDER_PROFILES).flatMap(([id, profile]) =>
    profile.apiMode === apiMode ? [id] : [],
  );
}

/** One provider of each group that differs only in name, address and key; the deep lane uses all of them. */
function distinct(providers: readonly string[]): string[] {
  const groups = new Map<string, string>();
  for (const id of providers) {
    const {
      baseUrl: _,
      keyVariables: __,
      needsKey: ___,
      ...behaviour
    } = findProviderProfile(id) ?? PROVIDER_PROFILES.custom;
    const group = scale.hostileProviders === "all" ? id : inspect(behaviour);
    if (!groups.has(group)) groups.set(group, id);
  }
  return [...groups.values()];
}
