import { describe, expect, test } from "vitest";
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
import { runTurn, type Turn } from "./loop.ts";

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

/** A model that gives these answers one after the other, and remembers what it was asked. */
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
      usage: { ...NO_USAGE, inputTokens: answer.tokens ?? 10, outputTokens: 1 },
      droppedTools: answer.droppedTools ?? [],
    };
  }
  return { ask, asked };
}

function failureOf(part: Partial<ModelFailure>): ModelFailure {
  return {
    kind: "unavailable",
    message: "the model is away",
    hint: "Try again later.",
    status: undefined,
    retryAfterMs: undefined,
    droppedTools: [],
    sawText: false,
    ...part,
  };
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
    judge?: (command: string) => string | undefined;
  } = {},
): Turn {
  const { tools = [echo], judge = () => undefined, ...rest } = options;
  return {
    turnId: "t1",
    ask: model.ask,
    model: { provider: "test", name: "m", price: { input: 1, cacheRead: 0.1, cacheWrite: 1, output: 5 } },
    rules: { tools: new Map(tools.map((one) => [one.name, one])), judge, fit: async (text) => text },
    definitions: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    history: [{ role: "system", text: "be good" }],
    message: user("go"),
    interrupted: undefined,
    lookUp: async () => undefined,
    lastPrefix: [],
    limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: undefined },
    haltsLoops: false,
    clock: new TurnableClock(),
    takeSteers: () => [],
    ...rest,
  };
}

async function collect(turned: Turn, signal = new AbortController().signal): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of runTurn(turned, signal)) events.push(event);
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

/** The shape of a conversation: no two messages of a person in a row, each call with exactly one result. */
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

/** The conversation as the durable events tell it. */
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

  test("runs reads side by side, tells their ends as they happen, and keeps the order of the calls in the conversation", async () => {
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

  test("calls that change something run in the order of the answer, and reads see all that came before and nothing after", async () => {
    const log: string[] = [];
    const begin = async (input: string): Promise<ToolResult> => {
      log.push(`+${input}`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`-${input}`);
      return { failed: false, text: "" };
    };
    const tools = [
      tool("write", begin),
      reader("read", begin),
      { ...reader("alone", begin), exclusive: true },
    ];
    const names = ["read", "read", "write", "write", "read", "alone", "read"];
    const calls = names.map((name, index) => call(`${index}`, name, `${index}`));
    const starts: string[] = [];
    for await (const event of runTurn(turn(scripted({ calls }), { tools }), new AbortController().signal)) {
      if (event.type !== "tools-start") continue;
      await new Promise((resolve) => setImmediate(resolve));
      const ids = event.calls.map(({ callId }) => callId);
      for (const id of ids) expect(log).not.toContain(`+${id}`); // a start is taken before the call begins
      starts.push(ids.join());
    }
    expect(starts).toEqual(["0,1", "2", "3", "4", "5", "6"]);
    expect(log.join(" ")).toBe("+0 +1 -0 -1 +2 -2 +3 -3 +4 -4 +5 -5 +6 -6");
  });

  test("a stop between two calls of an answer leaves the later ones not run and not started", async () => {
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

  test("an unknown tool and a tool that throws are results with advice", async () => {
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

  test("a command that is refused is not run", async () => {
    let ran = false;
    const shell: Tool = {
      ...tool("shell", async () => {
        ran = true;
        return { failed: false, text: "" };
      }),
      commandsOf: (input) => [input],
    };
    const model = scripted({ calls: [call("1", "shell", "rm -rf /")] });
    const events = await collect(turn(model, { tools: [shell], judge: (command) => `never: ${command}` }));
    expect([ran, all(events, "tool-end")[0]?.text]).toEqual([false, "never: rm -rf /"]);
  });

  test("A2: a note of the user comes after the results, as a message of its own", async () => {
    const notes = ["be quick"];
    const model = scripted({ calls: [call("1", "echo")] }, { text: "ok" });
    const events = await collect(turn(model, { takeSteers: () => notes.splice(0) }));
    expect(model.asked[1]?.slice(-2)).toMatchObject([{ role: "tool" }, { role: "user", kind: "steer" }]);
    expect(all(events, "steer")).toHaveLength(1);
  });

  test("M7: a stop while the model writes leaves no half answer, and the next message may follow", async () => {
    const stop = new AbortController();
    const model = scripted({ text: "half", hangs: true });
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

  test("M7: a stop while tools run gives each call its one result", async () => {
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

  test("a failure of the model is one clear line, and the conversation stays valid", async () => {
    const events = await collect(turn(scripted({ failure: {} })));
    expect(end(events)).toMatchObject({
      outcome: "failed",
      reason: "the model is away",
      hint: "Try again later.",
    });
    expectValid([...replay([], events), user("next")]);
  });

  test("A3: at the limit of steps the model answers once more, and its further calls are not run", async () => {
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

  test("A3: money is a limit too", async () => {
    const spend = scripted({ calls: [call("1", "echo")], tokens: 1_000_000 }, { text: "poor" });
    const dear = await collect(
      turn(spend, { limits: { maxRequests: undefined, maxSeconds: undefined, maxCostUsd: 0.5 } }),
    );
    expect(end(dear)).toMatchObject({ outcome: "budget", text: "poor" });
  });

  test("A3: at the end of its time a turn stops the request or the call that runs, and asks no more", async () => {
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

  test("an answer that was cut by its length goes on, and is one answer in the end", async () => {
    const events = await collect(turn(scripted({ text: "one ", finish: "length" }, { text: "two" })));
    expect(end(events)).toMatchObject({ outcome: "completed", text: "one two" });
    expectValid(replay([], events));
  });

  test("an answer that is cut again and again is cut in the end, and nobody takes it for whole", async () => {
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

  test("the model is told of a call that was cut, after the results of those that were whole", async () => {
    const model = scripted(
      { text: "First this.", calls: [call("1", "echo")], finish: "length", droppedTools: ["write_file"] },
      { finish: "length", droppedTools: ["write_file"] },
      { text: "done" },
    );
    const events = await collect(turn(model));
    expect(end(events)).toMatchObject({ outcome: "completed", text: "done" });
    const told = /Your call of write_file was cut off by the model's output limit, so it was not run/;
    expect(textIn(model.asked[1]?.at(-1))).toMatch(told);
    expect(model.asked[1]?.at(-2)).toMatchObject({ role: "tool", callId: "1" });
    expect(textIn(model.asked[2]?.at(-1))).toMatch(told);
    expect(model.asked[2]?.at(-2)).toMatchObject({ role: "assistant", parts: [{ type: "text" }] });
    expectValid(replay([], events));
  });

  test("a call that is cut again and again ends the turn as cut", async () => {
    const model = scripted(
      ...Array.from({ length: 9 }, () => ({ finish: "length", droppedTools: ["write_file"] }) as const),
    );
    expect(end(await collect(turn(model)))).toMatchObject({
      outcome: "cut",
      text: "",
      reason: "The call of write_file was cut off by the model's output limit.",
      requests: 4,
    });
  });

  test("reasoning that used up the limit is followed by the request to answer", async () => {
    const model = scripted({ reasoning: "hm", finish: "length" }, { text: "now" });
    const events = await collect(turn(model));
    expect(textIn(model.asked[1]?.at(-1))).toContain("Think less, and answer or act now.");
    expect(end(events)).toMatchObject({ outcome: "completed", text: "now" });
    expectValid(replay([], events));
  });

  test("an answer at the end of the window is cut at once, because nothing more fits", async () => {
    const events = await collect(turn(scripted({ text: "so far", finish: "window" })));
    expect(end(events)).toMatchObject({ outcome: "cut", text: "so far", requests: 1 });
    expect(end(events)?.hint).toContain("new session");
  });

  test.each([{ text: "I should not" }, {}])("a refusal is an outcome of its own: %o", async (answer) => {
    const model = scripted({ ...answer, calls: [call("1", "echo")], finish: "content-filter" });
    const events = await collect(turn(model));
    expect(end(events)).toMatchObject({ outcome: "refused", text: answer.text ?? "" });
    expect(end(events)?.reason).toContain("test ended the answer with a refusal");
    expect(all(events, "tool-end")).toMatchObject([{ outcome: "not-run" }]);
    expectValid([...replay([], events), user("next")]);
    const silent = await collect(turn(scripted({ ...answer, finish: "content-filter" })));
    expectValid([...replay([], silent), user("next")]);
    expect(textIn(replay([], silent).at(-1))).not.toBe("");
  });

  test("what the model is told between two requests is one message", async () => {
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
      reason: "The model did not stop writing",
    });
  });

  test("of ten thousand calls in one answer a few run, and each has its result", async () => {
    let ran = 0;
    const counting = tool("counting", async () => ({ failed: false, text: `${++ran}` }));
    const calls = Array.from({ length: 10_000 }, (_, index) => call(`${index}`, "counting"));
    const events = await collect(turn(scripted({ calls }, { text: "ok" }), { tools: [counting] }));
    expect([ran, all(events, "tool-end").length]).toEqual([64, 10_000]);
    expectValid(replay([], events));
  });

  test("A3: the same failure again and again is told to the model, and ends a turn that nobody watches", async () => {
    const fails = tool("fails", async () => ({ failed: true, text: "no" }));
    const answers = Array.from({ length: 6 }, (_, index) => ({ calls: [call(`${index}`, "fails")] }));
    const watched = await collect(turn(scripted(...answers), { tools: [fails] }));
    expect(all(watched, "tool-end").map(({ text }) => text.includes("repeated earlier calls"))).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(end(watched)?.outcome).toBe("completed");
    const alone = await collect(turn(scripted(...answers), { tools: [fails], haltsLoops: true }));
    expect(end(alone)).toMatchObject({ outcome: "failed", requests: 5 });
  });

  test("M2: a prompt that does not begin as the last one did is told, with what broke it", async () => {
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
  const noting = tool("echo", async (input) => {
    ran.push(input);
    return { failed: false, text: "" };
  });

  test("is stored first and the model sees it next; started calls are uncertain, planned ones not run, none runs", async () => {
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
        lookUp: async ({ callId }) => `Call ${callId} does not run any more.`,
        limits: { maxRequests: 1, maxSeconds: undefined, maxCostUsd: undefined },
        tools: [noting],
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

  test("does not stand right after an earlier one that was never answered", async () => {
    const model = scripted({ text: "ok" });
    const interrupted = { turnId: "t0", pending: [] };
    await collect(turn(model, { history: history.slice(0, 2), message: user("STOP"), interrupted }));
    expectValid(model.asked[0] ?? []);
    expect(model.asked[0]?.at(-2)).toMatchObject({ parts: [{ text: expect.stringContaining("No answer") }] });
  });

  test("leaves a complete answer as it is, whose end of turn was lost", async () => {
    const whole = [...history.slice(0, 2), messageOf({ text: "all done" })];
    const events = await collect(
      turn(scripted({ text: "ok" }), { history: whole, interrupted: { turnId: "t0", pending: [] } }),
    );
    expect(events[0]).toMatchObject({ interrupted: { outcome: "completed", answer: undefined } });
  });
});
