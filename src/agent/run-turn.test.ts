import { describe, expect, test } from "vitest";
import { CLOSED_GATE, OPEN_GATE } from "../../test/support/call-gates.ts";
import { failureOf } from "../../test/support/model-failure.ts";
import { TurnableClock } from "../../test/support/turnable-clock.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallPart,
  textOf,
  type UserMessage,
} from "../providers/message.ts";
import { type FinishReason, type ModelEvent, type ModelFailure, NO_USAGE } from "../providers/provider.ts";
import type { Tool, ToolCallContext, ToolResult } from "../tools/tool.ts";
import type { AgentEvent, AgentEventOf } from "./events.ts";
import type { CallGate } from "./run-tools.ts";
import { runTurn, type Turn } from "./run-turn.ts";

const user = (text: string): UserMessage => ({ role: "user", parts: [{ type: "text", text }] });
const call = (callId: string, tool: string, input = "{}"): ToolCallPart => ({
  type: "tool-call",
  callId,
  tool,
  input,
});

interface Answer {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ToolCallPart[];
  readonly finish?: FinishReason;
  readonly droppedTools?: readonly string[];
  readonly failure?: Partial<ModelFailure>;
  readonly prefix?: readonly string[];
  readonly tokens?: number;
  /** The server reports no usage. */
  readonly uncounted?: boolean;
  /** Never ends by itself. */
  readonly hangs?: boolean;
  readonly floods?: boolean;
}

function messageOf({ text, reasoning, calls = [] }: Answer): AssistantMessage {
  return {
    role: "assistant",
    parts: [
      ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning } as const]),
      ...(text === undefined ? [] : [{ type: "text", text } as const]),
      ...calls,
    ],
  };
}

/** A model that gives these answers in order and records its requests. */
function scripted(...answers: readonly Answer[]) {
  const asked: (readonly Message[])[] = [];
  async function* ask(
    { messages }: { messages: readonly Message[] },
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent> {
    const answer = answers[asked.length] ?? { text: "nothing more" };
    asked.push(messages);
    yield {
      type: "request-sent",
      prefix: answer.prefix ?? messages.map((message) => JSON.stringify(message)),
    };
    if (answer.hangs && answer.text !== undefined) yield { type: "text-delta", text: answer.text };
    if (answer.hangs && !signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    while (answer.floods && !signal.aborted) yield { type: "reasoning-delta", text: "x".repeat(500_000) };
    if (signal.aborted) return yield { type: "failed", failure: failureOf({ kind: "aborted" }) };
    if (answer.failure) return yield { type: "failed", failure: failureOf(answer.failure) };
    if (answer.text !== undefined) yield { type: "text-delta", text: answer.text };
    const calls = answer.calls ?? [];
    yield {
      type: "message-end",
      message: messageOf(answer),
      finish: answer.finish ?? (calls.length > 0 ? "tool-calls" : "stop"),
      usage: answer.uncounted ? NO_USAGE : { ...NO_USAGE, inputTokens: answer.tokens ?? 10, outputTokens: 1 },
      droppedTools: answer.droppedTools ?? [],
    };
  }
  return { ask, asked };
}

function tool(
  name: string,
  run: (input: string, context: ToolCallContext) => Promise<ToolResult>,
  mutates = true,
): Tool {
  return { name, toolset: "test", description: name, inputSchema: { type: "object" }, mutates, call: run };
}

const reader = (name: string, run: Tool["call"]): Tool => tool(name, run, false);
const echo = tool("echo", async (input) => ({ failed: false, text: input }));

function turn(
  model: ReturnType<typeof scripted>,
  options: Partial<Omit<Turn, "rules">> & {
    tools?: readonly Tool[];
    gate?: CallGate;
  } = {},
): Turn {
  const { tools = [echo], gate = OPEN_GATE, ...rest } = options;
  return {
    turnId: "t1",
    ask: model.ask,
    onAnswer: () => undefined,
    model: { provider: "test", name: "m", price: { input: 1, cacheRead: 0.1, cacheWrite: 1, output: 5 } },
    rules: { tools: new Map(tools.map((one) => [one.name, one])), gate, fit: async (text) => text },
    definitions: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    history: [{ role: "system", text: "be good" }],
    message: user("go"),
    interrupted: undefined,
    lookUp: async () => undefined,
    lastPrefix: [],
    compaction: undefined,
    limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined },
    haltsLoops: false,
    maxDenials: 3,
    endsUnanswered: false,
    clock: new TurnableClock(),
    takeSteers: () => [],
    ...rest,
  };
}

async function collect(options: Turn, signal = new AbortController().signal): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of runTurn(options, signal)) events.push(event);
  return events;
}

const all = <Type extends AgentEvent["type"]>(
  events: readonly AgentEvent[],
  type: Type,
): AgentEventOf<Type>[] => events.filter((event): event is AgentEventOf<Type> => event.type === type);

const end = (events: readonly AgentEvent[]): AgentEventOf<"turn-end"> | undefined =>
  all(events, "turn-end")[0];

const textIn = (message: Message | undefined): string =>
  message?.role === "user" || message?.role === "assistant" ? textOf(message) : "";

/** Checks that a conversation has no two user messages in a row, and exactly one result for each call. */
function expectValid(messages: readonly Message[]): void {
  let previous = "";
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "user" && message.kind !== "steer") expect(previous).not.toBe("user");
    if (message.role === "tool") expect(open.delete(message.callId)).toBe(true);
    else expect([...open]).toEqual([]);
    if (message.role === "assistant")
      for (const part of message.parts) if (part.type === "tool-call") open.add(part.callId);
    previous = message.role;
  }
}

/** Rebuilds the conversation from the durable events. */
function replay(start: readonly Message[], events: readonly AgentEvent[]): Message[] {
  const messages = [...start];
  const results = new Map<string, Message>();
  let waiting: string[] = [];
  const flush = (): void => {
    for (const id of waiting.splice(0))
      messages.push(results.get(id) ?? { role: "system", text: `missing ${id}` });
  };
  for (const event of events) {
    if (event.type === "turn-start") messages.push(event.message);
    if (event.type === "steer" || event.type === "assistant") flush();
    if (event.type === "steer") messages.push(event.message);
    if (event.type === "assistant") {
      messages.push(event.message);
      waiting = event.message.parts.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
    }
    if (event.type === "tool-end") {
      const { callId, tool: name, text, outcome } = event;
      results.set(callId, { role: "tool", callId, tool: name, text, failed: outcome !== "ok" });
    }
  }
  flush();
  return messages;
}

describe("a turn", () => {
  test("ends with the answer of the model", async () => {
    const events = await collect(turn(scripted({ text: "done" })));
    expect(events.map(({ type }) => type)).toEqual([
      "turn-start",
      "request-sent",
      "text-delta",
      "assistant",
      "turn-end",
    ]);
    expect(end(events)).toMatchObject({ outcome: "completed", text: "done", requests: 1, costUsd: 0.000015 });
  });

  test("runs reads in parallel, reports each as it ends, and keeps the order of the calls in the conversation", async () => {
    let release: () => void = () => undefined;
    const second = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = reader("slow", async () => {
      await second;
      return { failed: false, text: "slow" };
    });
    const quick = reader("quick", async () => {
      release();
      return { failed: false, text: "quick" };
    });
    const model = scripted({ calls: [call("1", "slow"), call("2", "quick")] }, { text: "done" });
    const events = await collect(turn(model, { tools: [slow, quick] }));
    expect(all(events, "tool-end").map(({ callId }) => callId)).toEqual(["2", "1"]);
    expect(model.asked[1]?.slice(-2)).toMatchObject([{ callId: "1" }, { callId: "2" }]);
  });

  test("calls that change something run in the order of the answer, and a read sees all earlier changes and no later one", async () => {
    const log: string[] = [];
    const logCall = async (input: string): Promise<ToolResult> => {
      log.push(`+${input}`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`-${input}`);
      return { failed: false, text: "" };
    };
    const tools = [
      tool("write", logCall),
      reader("read", logCall),
      { ...reader("alone", logCall), exclusive: true },
    ];
    const names = ["read", "read", "write", "write", "read", "alone", "read"];
    const calls = names.map((name, index) => call(`${index}`, name, `${index}`));
    const starts: string[] = [];
    for await (const event of runTurn(turn(scripted({ calls }), { tools }), new AbortController().signal)) {
      if (event.type !== "tools-start") continue;
      await new Promise((resolve) => setImmediate(resolve));
      const ids = event.calls.map(({ callId }) => callId);
      for (const id of ids) expect(log).not.toContain(`+${id}`); // tools-start is consumed before the call starts
      starts.push(ids.join());
    }
    expect(starts).toEqual(["0,1", "2", "3", "4", "5", "6"]);
    expect(log.join(" ")).toBe("+0 +1 -0 -1 +2 -2 +3 -3 +4 -4 +5 -5 +6 -6");
  });

  test("a stop between two calls of an answer keeps the later calls from starting", async () => {
    const stop = new AbortController();
    const stopping = tool("stopping", async () => {
      stop.abort();
      return { failed: false, text: "" };
    });
    const model = scripted({ calls: [call("1", "stopping"), call("2", "echo"), call("3", "nowhere")] });
    const events = await collect(turn(model, { tools: [stopping, echo] }), stop.signal);
    expect(all(events, "tools-start").map(({ calls }) => calls.length)).toEqual([1]);
    expect(all(events, "tool-end").map(({ outcome }) => outcome)).toEqual(["stopped", "not-run", "not-run"]);
    expectValid([...replay([], events), user("next")]);
  });

  test("an unknown tool and a tool that throws give failed results that the model can act on", async () => {
    const broken = tool("broken", () => Promise.reject(new Error("ouch")));
    const model = scripted({ calls: [call("1", "ecko"), call("2", "broken")] }, { text: "sorry" });
    const events = await collect(turn(model, { tools: [echo, broken] }));
    const [unknown, thrown] = all(events, "tool-end").toSorted((a, b) => a.callId.localeCompare(b.callId));
    expect(unknown).toMatchObject({
      outcome: "failed",
      text: expect.stringContaining('Did you mean "echo"?'),
    });
    expect(thrown).toMatchObject({ outcome: "failed", text: '{"error":"ouch"}' });
    expect(end(events)?.outcome).toBe("completed");
  });

  test("a refused command is not run", async () => {
    let ran = false;
    const shell: Tool = {
      ...tool("shell", async () => {
        ran = true;
        return { failed: false, text: "" };
      }),
    };
    const model = scripted({ calls: [call("1", "shell", "rm -rf /")] });
    const events = await collect(turn(model, { tools: [shell], gate: CLOSED_GATE }));
    expect([ran, all(events, "tool-end")[0]?.text]).toEqual([false, "never: rm -rf /"]);
  });

  test("A2: a note of the user follows the tool results as a separate message", async () => {
    const notes = ["be quick"];
    const model = scripted({ calls: [call("1", "echo")] }, { text: "ok" });
    const events = await collect(turn(model, { takeSteers: () => notes.splice(0) }));
    expect(model.asked[1]?.slice(-2)).toMatchObject([{ role: "tool" }, { role: "user", kind: "steer" }]);
    expect(all(events, "steer")).toHaveLength(1);
  });

  test("M7: a stop before the first text leaves a placeholder, and the next message can follow", async () => {
    const stop = new AbortController();
    const model = scripted({ hangs: true });
    const events: AgentEvent[] = [];
    for await (const event of runTurn(turn(model), stop.signal)) {
      events.push(event);
      if (event.type === "request-sent") stop.abort();
    }
    expect(end(events)?.outcome).toBe("stopped");
    const messages = replay([], events);
    expect(messages.at(-1)).toMatchObject({
      role: "assistant",
      parts: [{ text: "[No answer: The turn was stopped.]" }],
    });
    expectValid([...messages, user("next")]);
  });

  test("M7: text that arrived before a stop is kept as an incomplete answer", async () => {
    const stop = new AbortController();
    const model = scripted({ text: "half of it", hangs: true });
    const events: AgentEvent[] = [];
    for await (const event of runTurn(turn(model), stop.signal)) {
      events.push(event);
      if (event.type === "text-delta") stop.abort();
    }
    expect(end(events)?.outcome).toBe("stopped");
    const messages = replay([], events);
    expect(messages.at(-1)).toMatchObject({
      role: "assistant",
      parts: [{ text: "half of it\n\n[Cut off: The turn was stopped.]" }],
    });
    expectValid([...messages, user("next")]);
  });

  test("M7: after an answer that announces a call without making it, the model gets one more request, then the turn ends as cut", async () => {
    const announced = { text: "I will look.", finish: "tool-calls" } as const;
    const fixed = scripted(announced, { text: "done" });
    expect(end(await collect(turn(fixed)))).toMatchObject({ outcome: "completed", text: "done" });
    expect(textIn(fixed.asked[1]?.at(-1))).toContain("announced a call");
    const never = scripted(announced, announced, announced);
    const events = await collect(turn(never));
    expect(end(events)).toMatchObject({ outcome: "cut", text: "I will look." });
    expect(never.asked).toHaveLength(2);
    expectValid(replay([], events));
  });

  test("M2: the tokens of failed attempts count in usage and cost", async () => {
    const usage = { ...NO_USAGE, inputTokens: 1_000_000, outputTokens: 0 };
    const model = scripted({ failure: { kind: "empty", usage } });
    const retried: Turn["ask"] = async function* (request, signal) {
      yield { type: "attempt-failed", failure: failureOf({ kind: "empty", usage }), retryInMs: 1 };
      yield* model.ask(request, signal);
    };
    const events = await collect(turn(model, { ask: retried }));
    expect(end(events)).toMatchObject({
      outcome: "failed",
      usage: { inputTokens: 2_000_000, outputTokens: 0 },
      costUsd: 2,
    });
    expect(all(events, "attempt-failed")).toMatchObject([{ costUsd: 1 }]);
    expect(all(events, "assistant")).toMatchObject([{ usage, costUsd: 1 }]);
  });

  test("M7: a stop while tools run gives each call exactly one result", async () => {
    const stop = new AbortController();
    const waits = reader(
      "waits",
      (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ failed: true, text: "so far" }), { once: true });
        }),
    );
    const model = scripted({ calls: [call("1", "waits"), call("2", "waits")] });
    const events: AgentEvent[] = [];
    for await (const event of runTurn(turn(model, { tools: [waits] }), stop.signal)) {
      events.push(event);
      if (event.type === "tools-start") setImmediate(() => stop.abort());
    }
    expect(all(events, "tool-end").map(({ outcome, text }) => [outcome, text])).toEqual([
      ["stopped", "so far"],
      ["stopped", "so far"],
    ]);
    expect(end(events)?.outcome).toBe("stopped");
    expectValid([...replay([], events), user("next")]);
  });

  test("a failure of the model ends the turn with its reason and hint, and the conversation stays valid", async () => {
    const events = await collect(turn(scripted({ failure: {} })));
    expect(end(events)).toMatchObject({
      outcome: "failed",
      reason: "the model is away",
      hint: "Try again later.",
    });
    expectValid([...replay([], events), user("next")]);
  });

  test("A3: at the step limit the model answers once more, and further calls are not run", async () => {
    const model = scripted(
      { calls: [call("1", "echo")] },
      { calls: [call("2", "echo")] },
      { text: "so far", calls: [call("3", "echo")] },
    );
    const limits = { maxRequests: 2, maxSeconds: undefined, maxCostUsd: undefined };
    const events = await collect(turn(model, { limits }));
    expect(end(events)).toMatchObject({ outcome: "budget", text: "so far", requests: 3 });
    expect(all(events, "tool-end").map(({ outcome }) => outcome)).toEqual(["ok", "ok", "not-run"]);
    expect(model.asked[2]?.at(-1)).toMatchObject({ role: "user", kind: "steer" });
    expectValid(replay([], events));
  });

  test("A3: a turn ends at its cost limit", async () => {
    const spend = scripted({ calls: [call("1", "echo")], tokens: 1_000_000 }, { text: "poor" });
    const expensive = await collect(
      turn(spend, { limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: 0.5 } }),
    );
    expect(end(expensive)).toMatchObject({ outcome: "budget", text: "poor" });
  });

  test("A3, M2: the cost of reviews counts towards the cost limit of the turn", async () => {
    const reviews = [{ provider: "test", model: "m", usage: NO_USAGE, costUsd: 0.6 }];
    const gate = { ...OPEN_GATE, takeReviews: () => reviews.splice(0) };
    const limits = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: 0.5 };
    const model = scripted({ calls: [call("1", "echo")] }, { text: "poor" });
    const events = await collect(turn(model, { limits, gate }));
    expect(end(events)).toMatchObject({ outcome: "budget", text: "poor" });
    expect(all(events, "call-reviewed")).toMatchObject([{ callId: "1", costUsd: 0.6 }]);
  });

  test("A3: if the server reports no usage, the cost limit is applied to an estimate, and one notice says so", async () => {
    const limits = { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: 0.5 };
    const long = "x".repeat(300_000);
    const answers = [1, 2, 3, 4, 5, 6].map((id) => ({
      calls: [call(`${id}`, "echo", JSON.stringify({ long }))],
      uncounted: true,
    }));
    const spend = scripted(...answers);
    const events = await collect(turn(spend, { limits }));
    expect(end(events)).toMatchObject({ outcome: "budget", usage: NO_USAGE });
    expect(end(events)?.costUsd).toBeGreaterThan(0.5);
    expect(spend.asked.length).toBeLessThan(4);
    expect(all(events, "notice")).toMatchObject([{ text: expect.stringContaining("estimate") }]);
    const free = await collect(turn(scripted({ text: "hi", uncounted: true })));
    expect(end(free)?.costUsd).toBeUndefined();
    expect(all(free, "notice")).toEqual([]);
  });

  test("A3: at its time limit a turn aborts the running request or call and sends no further request", async () => {
    const limits = { maxRequests: undefined, maxSeconds: 10, maxCostUsd: undefined };
    const clock = new TurnableClock();
    const waits = tool("waits", async (_, { signal }) => {
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await clock.advance(11_000);
      await stopped;
      return { failed: false, text: "so far" };
    });
    const answer = { text: "Wait.", calls: [call("1", "waits"), call("2", "waits")] };
    const events = await collect(turn(scripted(answer), { clock, limits, tools: [waits] }));
    const reason = "The limit of 10 seconds is reached.";
    expect(end(events)).toMatchObject({ outcome: "budget", text: "Wait.", reason, requests: 1 });
    expect(all(events, "tool-end").map(({ outcome }) => outcome)).toEqual(["stopped", "not-run"]);
    expectValid([...replay([], events), user("next")]);

    const asking = new TurnableClock();
    for (const text of ["", "I thi"]) {
      const hanging = collect(turn(scripted({ hangs: true, text }), { clock: asking, limits }));
      await asking.advance(11_000);
      const asked = await hanging;
      expect(end(asked)).toMatchObject({ outcome: "budget", text, reason, requests: 1 });
      const kept = text === "" ? `[No answer: ${reason}]` : `${text}\n\n[Cut off: ${reason}]`;
      expect(textIn(replay([], asked).at(-1))).toBe(kept);
      expectValid([...replay([], asked), user("next")]);
    }
    expect([clock.sleeping, asking.sleeping]).toEqual([0, 0]);
  });

  test("an answer that was cut by a length limit is continued, and both parts become one answer", async () => {
    const events = await collect(turn(scripted({ text: "one ", finish: "length" }, { text: "two" })));
    expect(end(events)).toMatchObject({ outcome: "completed", text: "one two" });
    expectValid(replay([], events));
  });

  test("an answer that is cut repeatedly ends the turn with the outcome cut", async () => {
    const model = scripted(...Array.from({ length: 9 }, () => ({ text: "on ", finish: "length" }) as const));
    const events = await collect(turn(model));
    expect(end(events)).toMatchObject({
      outcome: "cut",
      text: "on on on on ",
      reason: "The answer was cut off by the model's output limit.",
      hint: expect.stringContaining("model.max_tokens"),
    });
    expectValid(replay([], events));
  });

  test("a cut call is reported to the model after the results of the complete calls", async () => {
    const model = scripted(
      { text: "First this.", calls: [call("1", "echo")], finish: "length", droppedTools: ["write_file"] },
      { finish: "length", droppedTools: ["write_file"] },
      { text: "done" },
    );
    const events = await collect(turn(model));
    expect(end(events)).toMatchObject({ outcome: "completed", text: "done" });
    const note = /Your call to write_file was cut off by the model's output limit, so it was not run/;
    expect(textIn(model.asked[1]?.at(-1))).toMatch(note);
    expect(model.asked[1]?.at(-2)).toMatchObject({ role: "tool", callId: "1" });
    expect(textIn(model.asked[2]?.at(-1))).toMatch(note);
    expect(model.asked[2]?.at(-2)).toMatchObject({ role: "assistant", parts: [{ type: "text" }] });
    expectValid(replay([], events));
  });

  test("a call that is cut repeatedly ends the turn with the outcome cut", async () => {
    const model = scripted(
      ...Array.from({ length: 9 }, () => ({ finish: "length", droppedTools: ["write_file"] }) as const),
    );
    expect(end(await collect(turn(model)))).toMatchObject({
      outcome: "cut",
      text: "",
      reason: "The call to write_file was cut off by the model's output limit.",
      requests: 4,
    });
  });

  test("after reasoning that used up the output limit the model is asked to answer", async () => {
    const model = scripted({ reasoning: "hm", finish: "length" }, { text: "now" });
    const events = await collect(turn(model));
    expect(textIn(model.asked[1]?.at(-1))).toContain("Think less, and answer or act now.");
    expect(end(events)).toMatchObject({ outcome: "completed", text: "now" });
    expectValid(replay([], events));
  });

  test("an answer that fills the context window ends the turn, because nothing more fits", async () => {
    const events = await collect(turn(scripted({ text: "so far", finish: "window" })));
    expect(end(events)).toMatchObject({ outcome: "cut", text: "so far", requests: 1 });
    expect(end(events)?.hint).toContain("new session");
  });

  test.each([{ text: "I should not" }, {}])(
    "a refused answer ends the turn with the outcome refused: %o",
    async (answer) => {
      const model = scripted({ ...answer, calls: [call("1", "echo")], finish: "content-filter" });
      const events = await collect(turn(model));
      expect(end(events)).toMatchObject({ outcome: "refused", text: answer.text ?? "" });
      expect(end(events)?.reason).toContain("test ended the answer with a refusal");
      expect(all(events, "tool-end")).toMatchObject([{ outcome: "not-run" }]);
      expectValid([...replay([], events), user("next")]);
      const silent = await collect(turn(scripted({ ...answer, finish: "content-filter" })));
      expectValid([...replay([], silent), user("next")]);
      expect(textIn(replay([], silent).at(-1))).not.toBe("");
    },
  );

  test("all notes between two requests are sent to the model as one message", async () => {
    const model = scripted({ calls: [call("1", "echo")] }, { text: "done" });
    const steers = ["one", "two"];
    const limits = { maxRequests: 1, maxSeconds: undefined, maxCostUsd: undefined };
    const events = await collect(turn(model, { takeSteers: () => steers.splice(0), limits }));
    expect(all(events, "steer")).toHaveLength(1);
    expect(textIn(model.asked[1]?.at(-1))).toMatch(/^one\n\ntwo\n\nThe limit of 1 steps is reached\./);
  });

  test("A2: reasoning without an answer is shown as the answer", async () => {
    expect(end(await collect(turn(scripted({ reasoning: "thought" }))))).toMatchObject({
      outcome: "completed",
      text: "thought",
    });
  });

  test("a model that never stops writing is stopped", async () => {
    expect(end(await collect(turn(scripted({ floods: true }))))).toMatchObject({
      outcome: "failed",
      reason: "The model did not stop writing.",
    });
  });

  test("an answer with ten thousand calls runs only 64 of them, and each call gets a result", async () => {
    let ran = 0;
    const counting = tool("counting", async () => ({ failed: false, text: `${++ran}` }));
    const calls = Array.from({ length: 10_000 }, (_, index) => call(`${index}`, "counting"));
    const events = await collect(turn(scripted({ calls }, { text: "ok" }), { tools: [counting] }));
    expect([ran, all(events, "tool-end").length]).toEqual([64, 10_000]);
    expectValid(replay([], events));
  });

  test("A3: a repeated failure is reported to the model and ends an unattended turn", async () => {
    const fails = tool("fails", async () => ({ failed: true, text: "no" }));
    const answers = Array.from({ length: 6 }, (_, index) => ({ calls: [call(`${index}`, "fails")] }));
    const attended = await collect(turn(scripted(...answers), { tools: [fails] }));
    expect(all(attended, "tool-end").map(({ text }) => text.includes("repeated earlier calls"))).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(end(attended)?.outcome).toBe("completed");
    const unattended = await collect(turn(scripted(...answers), { tools: [fails], haltsLoops: true }));
    expect(end(unattended)).toMatchObject({ outcome: "failed", requests: 5 });
  });

  test("M2: a prompt that does not extend the previous one is reported with the part that changed", async () => {
    const events = await collect(
      turn(scripted({ text: "x", prefix: ["tools", "system 2", "m"] }), {
        lastPrefix: ["tools", "system", "m"],
      }),
    );
    expect(all(events, "cache-broken")).toMatchObject([{ at: 1, what: "the system prompt changed" }]);
    const fine = await collect(
      turn(scripted({ text: "x", prefix: ["tools", "system", "m"] }), { lastPrefix: ["tools", "system"] }),
    );
    expect(all(fine, "cache-broken")).toEqual([]);
  });
});

describe("a message after a crash", () => {
  const asked = messageOf({ calls: [call("1", "echo", '"a"'), call("2", "echo", '"b"'), call("3", "echo")] });
  const history: Message[] = [{ role: "system", text: "be good" }, user("go"), asked];
  const ran: string[] = [];
  const recording = tool("echo", async (input) => {
    ran.push(input);
    return { failed: false, text: "" };
  });

  test("is stored first and sent with the next request; started calls get the outcome unknown, planned ones not-run, and none is run again", async () => {
    const done: Message = { role: "tool", callId: "2", tool: "echo", text: "before", failed: false };
    const pending = [
      { call: call("1", "echo", '"a"'), started: true },
      { call: call("3", "echo"), started: false },
    ];
    const model = scripted({ text: "stopped" });
    const events = await collect(
      turn(model, {
        history: [...history, done],
        message: user("STOP"),
        interrupted: { turnId: "t0", pending },
        lookUp: async ({ call: { callId } }) => `Call ${callId} does not run any more.`,
        limits: { maxRequests: 1, maxSeconds: undefined, maxCostUsd: undefined },
        tools: [recording],
      }),
    );
    expect(ran).toEqual([]);
    expect(events[0]).toMatchObject({
      type: "turn-start",
      message: user("STOP"),
      interrupted: { turnId: "t0", outcome: "failed", answer: undefined },
    });
    expect(all(events, "tool-end").map(({ callId, outcome }) => [callId, outcome])).toEqual([
      ["1", "unknown"],
      ["3", "not-run"],
    ]);
    expect(all(events, "notice").map(({ text }) => text)).toEqual([
      'echo "a": interrupted, outcome unknown; it was not run again.',
      "echo {}: not run.",
    ]);
    const [request = []] = model.asked;
    expectValid(request);
    expect(request.slice(3)).toMatchObject([
      { callId: "1", text: expect.stringContaining("Call 1 does not run any more.") },
      { callId: "2", text: "before" },
      { callId: "3", text: expect.stringContaining("Not run") },
      user("STOP"),
    ]);
    expect(end(events)).toMatchObject({ outcome: "completed", text: "stopped", requests: 1 });
  });

  test("is separated by a placeholder from an earlier message that was never answered", async () => {
    const model = scripted({ text: "ok" });
    const interrupted = { turnId: "t0", pending: [] };
    await collect(turn(model, { history: history.slice(0, 2), message: user("STOP"), interrupted }));
    expectValid(model.asked[0] ?? []);
    expect(model.asked[0]?.at(-2)).toMatchObject({ parts: [{ text: expect.stringContaining("No answer") }] });
  });

  test("keeps a complete answer whose turn-end event was lost", async () => {
    const answered = [...history.slice(0, 2), messageOf({ text: "all done" })];
    const events = await collect(
      turn(scripted({ text: "ok" }), { history: answered, interrupted: { turnId: "t0", pending: [] } }),
    );
    expect(events[0]).toMatchObject({ interrupted: { outcome: "completed", answer: undefined } });
  });
});
