import { expect, it } from "vitest";
import type { AssistantMessage, Message } from "./message.ts";
import type { Model, ModelEvent, ModelRequest, ToolDefinition } from "./provider.ts";
import type { ScriptInput } from "./scripted/script.ts";

/** A model that answers from a script, and the server behind it, if any. */
export interface ScriptedSetup extends AsyncDisposable {
  readonly model: Model;
}

export interface ContractDifferences {
  /** The reason why reasoning is not tested. */
  readonly noReasoning?: string;
  /** The reason why token counts are not compared. */
  readonly noUsage?: string;
}

const TOOLS: readonly ToolDefinition[] = [
  {
    name: "terminal",
    description: "Runs a command",
    inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
  { name: "read_file", description: "Reads a file", inputSchema: { type: "object", properties: {} } },
];

export const createTestSignal = () => AbortSignal.timeout(300_000);

export function ask(...messages: readonly (Message | string)[]): ModelRequest {
  return {
    tools: TOOLS,
    messages: [
      { role: "system", text: "You are a test." },
      ...messages.map(
        (message): Message =>
          typeof message === "string" ? { role: "user", parts: [{ type: "text", text: message }] } : message,
      ),
    ],
  };
}

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

type EventOf<Type extends ModelEvent["type"]> = Extract<ModelEvent, { type: Type }>;

export function ofType<Type extends ModelEvent["type"]>(
  events: readonly ModelEvent[],
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type);
}

/** The one event that ends a stream. */
export function lastOf(events: readonly ModelEvent[]): EventOf<"message-end"> | EventOf<"failed"> {
  const ends = events.filter((event) => event.type === "message-end" || event.type === "failed");
  expect(ends).toHaveLength(1);
  const last = events.at(-1);
  if (last?.type === "message-end" || last?.type === "failed") return last;
  throw new Error(`the last event is ${last?.type}`);
}

export function messageOf(events: readonly ModelEvent[]): AssistantMessage {
  const last = lastOf(events);
  if (last.type === "failed") throw new Error(`${last.failure.kind}: ${last.failure.message}`);
  return last.message;
}

/** The parts of a message without reasoning that only its provider can read. */
function readableParts(message: AssistantMessage): AssistantMessage["parts"] {
  return message.parts.filter((part) => part.type !== "reasoning" || part.text !== "");
}

function callsOf(message: AssistantMessage) {
  return message.parts.filter((part) => part.type === "tool-call");
}

/** The contract that every kind of model passes. */
export function providerContract(
  open: (script: ScriptInput) => Promise<ScriptedSetup>,
  { noReasoning, noUsage }: ContractDifferences = {},
): void {
  it("streams text in pieces and ends with the complete message", async () => {
    await using lab = await open({
      answers: [{ text: "Hello, how are you today?", chunk: 5, delay_ms: 20 }],
    });
    const events = await collect(lab.model.stream(ask("hi"), createTestSignal()));
    expect(events[0]?.type).toBe("request-sent");
    const deltas = ofType(events, "text-delta");
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(({ text }) => text).join("")).toBe("Hello, how are you today?");
    expect(readableParts(messageOf(events))).toMatchObject([
      { type: "text", text: "Hello, how are you today?" },
    ]);
    expect(lastOf(events)).toMatchObject({ finish: "stop" });
  });

  it.skipIf(noReasoning !== undefined)(
    "M7: separates reasoning from text and accepts an answer that is only reasoning",
    async () => {
      await using lab = await open({
        answers: [{ reasoning: "Let me think.", text: "Yes." }, { reasoning: "Hm." }],
      });
      const events = await collect(lab.model.stream(ask("hi"), createTestSignal()));
      expect(
        ofType(events, "reasoning-delta")
          .map(({ text }) => text)
          .join(""),
      ).toBe("Let me think.");
      const message = messageOf(events);
      expect(message.parts).toMatchObject([
        { type: "reasoning", text: "Let me think." },
        { type: "text", text: "Yes." },
      ]);
      const next = await collect(lab.model.stream(ask("hi", message, "and?"), createTestSignal()));
      expect(messageOf(next).parts).toMatchObject([{ type: "reasoning", text: "Hm." }]);
    },
  );

  it("delivers a tool call complete, with the input as the model wrote it", async () => {
    const input = { command: 'echo "hi"\n\tü' };
    await using lab = await open({
      answers: [{ text: "Let me look.", tools: [{ name: "terminal", input }], chunk: 4 }],
    });
    const events = await collect(lab.model.stream(ask("hi"), createTestSignal()));
    const [call] = callsOf(messageOf(events));
    expect(call).toMatchObject({ tool: "terminal" });
    expect(JSON.parse(call?.input ?? "")).toEqual(input);
    expect(ofType(events, "tool-call-start")).toMatchObject([{ tool: "terminal", callId: call?.callId }]);
    expect(lastOf(events)).toMatchObject({ finish: "tool-calls" });
  });

  it("delivers parallel calls in order, with ids that are unique across answers", async () => {
    const tools = [
      { name: "terminal", input: { command: "a" } },
      { name: "read_file", input: { path: "b" } },
      { name: "terminal", input: { command: "c" } },
    ];
    await using lab = await open({ answers: [{ tools }, { tools }, { text: "Done." }] });
    const history: (Message | string)[] = ["hi"];
    const ids: string[] = [];
    for (let round = 0; round < 2; round++) {
      const message = messageOf(await collect(lab.model.stream(ask(...history), createTestSignal())));
      const calls = callsOf(message);
      expect(calls.map(({ tool, input }) => [tool, JSON.parse(input)])).toEqual(
        tools.map(({ name, input }) => [name, input]),
      );
      ids.push(...calls.map(({ callId }) => callId));
      history.push(message);
      for (const { callId, tool } of calls)
        history.push({ role: "tool", callId, tool, text: `result of ${callId}`, failed: false });
    }
    expect(new Set(ids).size).toBe(6);
    const end = await collect(lab.model.stream(ask(...history), createTestSignal()));
    expect(readableParts(messageOf(end))).toMatchObject([{ type: "text", text: "Done." }]);
  });

  it.skipIf(noUsage !== undefined)("reports the tokens that the provider counted", async () => {
    await using lab = await open({ answers: [{ text: "Hi.", usage: { input: 120, output: 7 } }] });
    const events = await collect(lab.model.stream(ask("hi"), createTestSignal()));
    expect(lastOf(events)).toMatchObject({ usage: { inputTokens: 120, outputTokens: 7 } });
  });

  it("M7: an abort in the middle of an answer ends the stream with a failure and without a message", async () => {
    await using lab = await open({ answers: [{ text: "word ".repeat(2_000), chunk: 5, delay_ms: 5 }] });
    const stop = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of lab.model.stream(ask("hi"), stop.signal)) {
      events.push(event);
      if (event.type === "text-delta") stop.abort();
    }
    expect(lastOf(events)).toMatchObject({ failure: { kind: "aborted", sawText: true, droppedTools: [] } });
    expect(ofType(events, "text-delta").length).toBeLessThan(100);
  });

  it("a request that is aborted before it starts is not sent", async () => {
    await using lab = await open({ answers: [{ text: "Hi." }] });
    const events = await collect(lab.model.stream(ask("hi"), AbortSignal.abort()));
    expect(events.map(({ type }) => type)).toEqual(["failed"]);
    expect(lastOf(events)).toMatchObject({ failure: { kind: "aborted" } });
  });

  it("M2: the hashes of every later request start with the hashes of this request", async () => {
    const tools = [{ name: "terminal", input: { command: "echo {n}" } }];
    await using lab = await open({
      answers: [
        { reasoning: "Hm.", text: "One.", tools: [...tools, ...tools], times: 15 },
        { tools, times: 14 },
        { text: "Done." },
      ],
    });
    const history: (Message | string)[] = ["begin"];
    let before: readonly string[] = [];
    for (let step = 0; step < 30; step++) {
      const events = await collect(lab.model.stream(ask(...history), createTestSignal()));
      const prefix = ofType(events, "request-sent")[0]?.prefix ?? [];
      expect(prefix.length).toBeGreaterThan(before.length);
      expect(prefix.slice(0, before.length)).toEqual(before);
      before = prefix;
      const message = messageOf(events);
      history.push(message);
      for (const { callId, tool } of callsOf(message))
        history.push({ role: "tool", callId, tool, text: `result ${step}`, failed: step % 4 === 0 });
      if (step % 3 === 0)
        history.push({ role: "user", kind: "steer", parts: [{ type: "text", text: `note ${step}` }] });
    }
    // After a request without an answer, a note follows with no assistant message in between.
    const beforeDone = history.slice(0, -1);
    const unanswered = ofType(
      await collect(lab.model.stream(ask(...beforeDone), createTestSignal())),
      "request-sent",
    )[0]?.prefix;
    const note: Message = { role: "user", kind: "steer", parts: [{ type: "text", text: "wait" }] };
    const [after] = ofType(
      await collect(lab.model.stream(ask(...beforeDone, note), createTestSignal())),
      "request-sent",
    );
    expect(after?.prefix).toHaveLength((unanswered?.length ?? 0) + 1);
    expect(after?.prefix.slice(0, -1)).toEqual(unanswered);
    const changed = [...history];
    changed[0] = "begin otherwise";
    const [sent] = ofType(
      await collect(lab.model.stream(ask(...changed), createTestSignal())),
      "request-sent",
    );
    const same = before.findIndex((hash, index) => hash !== sent?.prefix[index]);
    expect(same).toBe(2); // tools and system prompt are unchanged, the first prompt is not
  });
}
