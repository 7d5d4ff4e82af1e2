import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AgentEvent, AgentEventOf } from "../../src/agent/events.ts";
import { runTurn, type Turn } from "../../src/agent/loop.ts";
import { createQuietView } from "../../src/cli/commands/chat/view.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createHttpClient, type HttpClient } from "../../src/lib/http.ts";
import {
  type Message,
  type ToolMessage,
  toolCallsOf,
  type UserMessage,
} from "../../src/providers/message.ts";
import { openModel } from "../../src/providers/open-model.ts";
import { modelOptions } from "../../src/providers/options.ts";
import { PROFILES } from "../../src/providers/profiles.ts";
import type { Model } from "../../src/providers/provider.ts";
import { resolveRoute } from "../../src/providers/resolve-route.ts";
import { type RetryingModel, withRetries } from "../../src/providers/with-retries.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { TurnableClock } from "../support/turnable-clock.ts";
import { ANTHROPIC_ROWS } from "./anthropic-rows.ts";
import { CHAT_ROWS } from "./chat-rows.ts";
import type { HostileRow, Reply } from "./hostile-row.ts";
import { HAS_ZSTD, type HostileServer, startHostileServer, type WireMessage } from "./hostile-server.ts";

const PROVIDERS = {
  chat: providersOf("chat_completions"),
  anthropic: [...providersOf("anthropic_messages"), "custom"],
};
const API_MODES = { chat: "chat_completions", anthropic: "anthropic_messages" } as const;
/** Longer than a silent server is waited for, once. */
const SILENCE_MS = 1_000_000;

let server: HostileServer;
let http: HttpClient;
beforeAll(async () => {
  server = await startHostileServer();
  http = createHttpClient({ proxy: {} });
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

describe.each([
  ["chat completions", CHAT_ROWS],
  ["Anthropic's format", ANTHROPIC_ROWS],
] as const)("a server that speaks %s", (_, rows) => {
  const known = rows.filter(({ zstd }) => zstd === undefined || zstd === HAS_ZSTD);
  test.concurrent.each(known.map((row, index) => [row.who, row.does, row, index] as const))(
    "%s: %s",
    async (_who, _does, row, index) => {
      await Promise.all(
        PROVIDERS[row.format].map((provider) => meets(row, provider, `${row.format}${index}`)),
      );
    },
  );
});

/** One run against the row's server, and another message in the same conversation, when the server is well again. */
async function meets(row: HostileRow, provider: string, name: string): Promise<void> {
  const { replies, prints = "", reads, requests = replies.length } = row;
  let isWell = false;
  const clock = new TurnableClock();
  const waited = new AbortController();
  const guest = server.invite(`${name}-${provider}`, (index): Reply => {
    const reply = isWell ? WELL[row.format] : replies[Math.min(index, replies.length - 1)];
    if (replies.length > 1 && (reply?.ends === "hang" || reply?.unanswered === "hang"))
      turnUntil(clock, waited.signal);
    return reply ?? WELL[row.format];
  });
  const model = withRetries(await modelOf(provider, row.format, guest.url, clock), {
    maxRetries: 3,
    showsText: false,
    // How long it waits before it asks again is tested elsewhere.
    clock: { now: () => clock.now(), sleep: async () => waited.abort() },
    random: () => 0,
  });
  const history: Message[] = [{ role: "system", text: "You are a test." }];

  const first = await run(model, history, "go");
  const words = reads?.replaceAll("{provider}", provider);
  expect(first.end, `${provider} with ${row.does}`).toMatchObject({ outcome: row.outcome, text: prints });
  expect(first.end.reason).toBe(words);
  expect(first.printed).toEqual(prints === "" ? [] : [prints]);
  expect(first.told).toEqual(words === undefined ? [] : [`hermes: ${words}\n  ${first.end.hint}`]);
  expect(guest.requests).toHaveLength(requests);
  if (row.calls !== undefined) expect(first.calls).toBe(row.calls);

  isWell = true;
  const second = await run(model, history, "and now?");
  expect(second.end).toMatchObject({ outcome: "completed", text: "Well." });
  for (const messages of guest.requests) expectValid(messages);
}

/** Lets time pass until somebody is tired of waiting. */
function turnUntil(clock: TurnableClock, signal: AbortSignal): void {
  const timer = setInterval(() => void clock.advance(SILENCE_MS), 50);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

async function run(model: RetryingModel, history: Message[], text: string) {
  const printed: string[] = [];
  const told: string[] = [];
  const view = createQuietView({
    print: (line: string) => void printed.push(line),
    note: (line: string) => void told.push(line),
  } as Terminal);
  const message: UserMessage = { role: "user", parts: [{ type: "text", text }] };
  const events: AgentEvent[] = [];
  for await (const event of runTurn(turnOf(model, history, message), AbortSignal.timeout(60_000)))
    events.push(event);
  const end = events.at(-1) as AgentEventOf<"turn-end">;
  view.end({ end, outcome: end.outcome, text: end.text, durationMs: 0 });
  history.push(...messagesOf(events));
  const calls = events.filter(({ type }) => type === "tool-end").length;
  return { end, printed, told, calls };
}

async function modelOf(
  provider: string,
  format: HostileRow["format"],
  url: string,
  clock: Clock,
): Promise<Model> {
  const settings = {
    model: modelOptions.parse({
      provider,
      default: "m",
      base_url: url,
      api_key: "key-of-the-server",
      api_mode: API_MODES[format],
    }),
    providers: {},
  };
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
    model,
    rules: { tools: new Map([[name, TERMINAL]]), judge: () => undefined, fit: async (text) => text },
    definitions: [{ name, description, inputSchema }],
    history,
    message,
    interrupted: undefined,
    lastPrefix: [],
    limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined },
    haltsLoops: false,
    clock: systemClock,
    lookUp: async () => undefined,
    takeSteers: () => [],
  };
}

/** What a turn adds to the conversation, with results in the order of their calls. */
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

/** User and assistant alternate, nothing is empty, and each call has its result. */
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
const WELL: { readonly [Format in HostileRow["format"]]: Reply } = {
  chat: { body: [chunk({ content: "Well." }, "stop"), "data: [DONE]\n\n"] },
  anthropic: {
    headers: { "content-type": "application/json" },
    body: [JSON.stringify({ content: [{ type: "text", text: "Well." }], stop_reason: "end_turn" })],
  },
};

function providersOf(apiMode: string): string[] {
  return Object.entries(PROFILES).flatMap(([id, profile]) => (profile.apiMode === apiMode ? [id] : []));
}
