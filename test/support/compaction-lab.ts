import type { AgentEvent } from "../../src/agent/events.ts";
import { auxiliaryOptions, compressionOptions } from "../../src/agent/options.ts";
import { createConversation } from "../../src/conversation/conversation.ts";
import { createPastSessions } from "../../src/conversation/past-sessions.ts";
import {
  type CompactionSettings,
  createTurnCompaction,
  findWindow,
} from "../../src/conversation/turn-compaction.ts";
import { readOwnIdentity } from "../../src/lib/process/process-identity.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { createUntrustedSources } from "../../src/policy/untrusted/untrusted-sources.ts";
import { hashOf } from "../../src/providers/ai-sdk/prefix-hashes.ts";
import { type Message, textOf } from "../../src/providers/message.ts";
import { type Model, type ModelFailure, type ModelRequest, NO_USAGE } from "../../src/providers/provider.ts";
import { openSessionStore } from "../../src/sessions/session-store.ts";
import { createSessionSearch } from "../../src/tools/session-search.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { OPEN_GATE } from "./call-gates.ts";
import { failureOf } from "./model-failure.ts";
import { storedSettings } from "./route-settings.ts";
import { NEW_SESSION, user } from "./session-fixtures.ts";

const NO_LIMITS = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined };

/** What the model does with a request: answer, call a tool, or fail. */
export type NextAnswer = (
  request: ModelRequest,
) =>
  | { readonly text: string; readonly finish?: "window" }
  | { readonly tool: string; readonly input: object }
  | ModelFailure;

/** A rough count, the same for requests and in assertions. */
export function countTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

/** Whether a request asks for a summary. */
export function isSummaryRequest({ messages }: ModelRequest): boolean {
  return messages[0]?.role === "system" && messages[0].text.includes("You write the summary");
}

/** A model with a window that it enforces, as servers do. */
export function createWindowedModel(windowTokens: number, next: NextAnswer): Model {
  let calls = 0;
  return {
    provider: "test",
    name: "m",
    contextTokens: windowTokens,
    price: { input: 1, cacheRead: 0.1, cacheWrite: 1, output: 5 },
    async *stream(request) {
      const { messages, tools } = request;
      yield { type: "request-sent", prefix: [hashOf(tools), ...messages.map(hashOf)] };
      const inputTokens = countTokens([messages, tools]);
      const answer = next(request);
      const failure =
        inputTokens > windowTokens
          ? failureOf({ kind: "too-long", message: "too long" })
          : "kind" in answer
            ? answer
            : undefined;
      if (failure !== undefined) {
        yield { type: "failed", failure };
        return;
      }
      const parts =
        "text" in answer
          ? [{ type: "text", text: answer.text } as const]
          : "tool" in answer
            ? [
                {
                  type: "tool-call",
                  callId: `call_${calls++ % 3}`, // repeats ids, as some servers do
                  tool: answer.tool,
                  input: JSON.stringify(answer.input),
                } as const,
              ]
            : [];
      yield {
        type: "message-end",
        message: { role: "assistant", parts },
        finish: "text" in answer ? (answer.finish ?? "stop") : "tool-calls",
        usage: { ...NO_USAGE, inputTokens, outputTokens: countTokens(parts) },
        droppedTools: [],
      };
    },
  };
}

/** A tool whose result has as many characters as its input asks for. */
export function createFetchTool(): Tool {
  return {
    name: "fetch",
    toolset: "test",
    description: "fetch",
    inputSchema: { type: "object" },
    mutates: true,
    call: async (input) => ({ failed: false, text: "data ".repeat(Number(/\d+/.exec(input)?.[0] ?? 0) / 5) }),
  };
}

/** A stored session with a model, without an environment. */
export async function openCompactionLab(
  path: string,
  model: Model,
  { sessionId, ...options }: { sessionId?: string; compression?: object; summarizer?: Model } = {},
) {
  const store = await openSessionStore(path, {}, neverAborted);
  const tools: Tool[] = [createFetchTool()];
  const stored = sessionId === undefined ? undefined : store.list.find(sessionId);
  const draft = {
    ...store.createSession({
      ...NEW_SESSION,
      toolsJson: JSON.stringify([{ name: "fetch", description: "", inputSchema: {} }]),
    }),
    ...(sessionId !== undefined && { id: sessionId }),
  };
  const session = stored === undefined ? draft : store.loadSession(stored.id).session;
  tools.push(
    createSessionSearch(
      createPastSessions(
        store,
        (text) => text,
        () => undefined,
      ),
      session.id,
    ),
  );
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const settings: CompactionSettings = {
    ...storedSettings(),
    compression: compressionOptions.parse(options.compression ?? {}),
    auxiliary: auxiliaryOptions.parse({}),
  };
  const summarizers = [options.summarizer, model].flatMap((one) =>
    one === undefined ? [] : [async () => one],
  );
  let statedTokens: number | undefined;
  const conversation = createConversation({
    store,
    session,
    isStored: stored !== undefined,
    earlierExchanges: [],
    identity: await readOwnIdentity(neverAborted),
    model: {
      ...model,
      keySource: undefined,
      startTurn: () => undefined,
      isCostLimited: () => false,
      current: () => model,
      [Symbol.asyncDispose]: async () => undefined,
    },
    newModel: undefined,
    reasoningEffort: undefined,
    maxOutputTokens: undefined,
    rules: { tools: byName, gate: OPEN_GATE, fit: async (text) => text },
    haltsLoops: false,
    maxDenials: 3,
    endsUnanswered: false,
    takeAuxiliaryRequests: () => [],
    spendingCaps: { session: undefined, day: undefined, isCostUnknown: false },
    isTitleCut: false,
    redact: (text) => text,
    untrusted: createUntrustedSources(),
    clock: systemClock,
    createCompaction: (state) =>
      createTurnCompaction(
        { store, sessionId: session.id, tools: byName, summarizers, settings },
        {
          windowTokens: () => findWindow(model.contextTokens, statedTokens),
          onWindowStated(tokens) {
            statedTokens = tokens;
          },
        },
        state,
      ),
    saveShell: () => undefined,
    onRequestSent: () => undefined,
    onTurnEnd: async () => undefined,
  });
  return {
    store,
    sessionId: session.id,
    conversation,
    tools: byName,
    /** The window that the server has stated. */
    statedTokens: () => statedTokens,
    /** Runs one turn and returns its events. */
    async say(text: string, signal = neverAborted): Promise<AgentEvent[]> {
      const events: AgentEvent[] = [];
      for await (const event of conversation.runTurn(user(text), NO_LIMITS, signal)) events.push(event);
      return events;
    },
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

/** Throws unless every call that is not pending has its result after it, and user and assistant messages alternate. */
export function requireValidHistory(
  messages: readonly Message[],
  pending: ReadonlySet<string> = new Set(),
): void {
  let open: string[] = [];
  let previous = "";
  for (const message of messages) {
    if (message.role === "tool") {
      if (open.shift() !== message.callId) throw new Error(`the result of ${message.callId} is misplaced`);
      continue;
    }
    if (open.length > 0) throw new Error(`${open[0]} has no result`);
    if (message.role === "user" && previous === "user") throw new Error("two user messages in a row");
    if (message.role === "assistant")
      open = message.parts.flatMap((part) =>
        part.type === "tool-call" && !pending.has(part.callId) ? [part.callId] : [],
      );
    previous = message.role;
  }
  if (open.length > 0) throw new Error(`${open[0]} has no result`);
}

/** The text of the last user message that is not a note. */
export function newestText(messages: readonly Message[]): string {
  const newest = messages.findLast((message) => message.role === "user" && message.kind !== "steer");
  return newest?.role === "user" ? textOf(newest) : "";
}
