import { describe, expect, it } from "vitest";
import { startAimock } from "../../../test/support/aimock.ts";
import { startScriptedServer } from "../../../test/support/scripted-server.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, providerContract } from "../provider.contract.ts";
import type { WireOptions } from "../wire/wire-model.ts";
import { testOptions, wireContract } from "../wire.contract.ts";
import { type AnthropicOptions, openAnthropicModel } from "./anthropic-model.ts";

function open(options: WireOptions, more: Partial<AnthropicOptions> = {}) {
  return openAnthropicModel({ ...options, cacheTtl: "5m", ...more });
}

describe("anthropic against an independent server", () => {
  providerContract(async (script) => {
    const server = await startAimock(script);
    return {
      model: open(testOptions(server.url)),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

describe("anthropic against a failing server", () => {
  const errorEvent = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  wireContract(open, { beforeText: 2, beforeInput: 8, errorEvent });
});

describe("anthropic on the wire", () => {
  it("M2: a failed attempt reports the tokens that the server counted, except for invalid counts", async () => {
    const events = (reason: string | undefined) =>
      [
        { type: "message_start", message: { usage: { input_tokens: 12, cache_read_input_tokens: 0.5 } } },
        ...(reason === undefined ? [] : [{ type: "message_delta", delta: { stop_reason: reason } }]),
        ...(reason === undefined ? [] : [{ type: "message_stop" }]),
      ]
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join("");
    for (const [reason, kind] of [
      ["end_turn", "empty"],
      [undefined, "cut"],
    ] as const) {
      await using server = await startScriptedServer(
        { answers: [{ text: "ok" }] },
        {
          misbehave: () => ({
            type: "answer",
            status: 200,
            body: events(reason),
            headers: { "content-type": "text/event-stream" },
          }),
        },
      );
      const last = lastOf(await collect(open(testOptions(server.url)).stream(ask("hi"), createTestSignal())));
      expect(last).toMatchObject({
        type: "failed",
        failure: { kind, usage: { inputTokens: 12, cacheReadTokens: undefined } },
      });
    }
  });

  it.each([
    ["minimal", { output_config: { effort: "low" } }],
    ["high", { output_config: { effort: "high" } }],
    ["ultra", { output_config: { effort: "max" } }],
    ["none", { thinking: { type: "disabled" } }],
  ] as const)("the effort %s is sent as %j", async (reasoningEffort, sent) => {
    await using server = await startScriptedServer({ answers: [{ text: "ok" }] });
    await collect(
      open(testOptions(server.url)).stream({ ...ask("hi"), reasoningEffort }, createTestSignal()),
    );
    expect(server.requests[0]?.body).toMatchObject(sent);
  });

  it.each([
    [
      "claude-sonnet-4-5",
      "high",
      { thinking: { type: "enabled", budget_tokens: 16_000 }, max_tokens: 64_000 },
    ],
    ["claude-haiku-4-5-20251001", "low", { thinking: { type: "enabled", budget_tokens: 4_000 } }],
    [
      "claude-opus-4-1",
      "ultra",
      { thinking: { type: "enabled", budget_tokens: 24_000 }, max_tokens: 32_000 },
    ],
    ["claude-sonnet-4-20250514", "minimal", { thinking: { type: "enabled", budget_tokens: 1_024 } }],
    ["claude-3-7-sonnet-latest", "high", { thinking: { type: "enabled", budget_tokens: 16_000 } }],
    ["anthropic/claude-sonnet-4.5", "high", { thinking: { type: "enabled", budget_tokens: 16_000 } }],
    ["claude-3-5-haiku-20241022", "high", { max_tokens: 8_192 }],
    ["claude-3-5-haiku-20241022", "none", { max_tokens: 8_192 }],
    ["claude-3-haiku-20240307", "high", { max_tokens: 4_096 }],
    ["claude-3-opus-20240229", "high", { max_tokens: 4_096 }],
    ["anthropic/claude-3.5-haiku", "high", { max_tokens: 8_192 }],
    [
      "claude-opus-4-5",
      "max",
      { thinking: { type: "enabled", budget_tokens: 24_000 }, output_config: { effort: "high" } },
    ],
    ["claude-sonnet-4-6", "xhigh", { thinking: { type: "adaptive" }, output_config: { effort: "max" } }],
    ["claude-opus-4-7", "xhigh", { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } }],
    ["claude-sonnet-5", "high", { output_config: { effort: "high" } }],
    ["claude-sonnet-4-5", "none", { thinking: { type: "disabled" } }],
  ] as const)("%s gets the effort %s in the form that it supports", async (name, reasoningEffort, sent) => {
    await using server = await startScriptedServer({ answers: [{ text: "ok" }] });
    const model = open(testOptions(server.url, { name, contextTokens: undefined }));
    await collect(model.stream({ ...ask("hi"), reasoningEffort }, createTestSignal()));
    const body = server.requests[0]?.body;
    const asked = { thinking: body?.["thinking"], output_config: body?.["output_config"] };
    expect({ ...asked, max_tokens: body?.["max_tokens"] }).toEqual({
      max_tokens: body?.["max_tokens"],
      ...sent,
    });
  });

  it("thinking does not use up a small output limit", async () => {
    await using server = await startScriptedServer({ answers: [{ text: "ok" }] });
    const model = open(testOptions(server.url, { name: "claude-sonnet-4-5", contextTokens: undefined }));
    await collect(
      model.stream({ ...ask("hi"), reasoningEffort: "low", maxOutputTokens: 500 }, createTestSignal()),
    );
    expect(server.requests[0]?.body).toMatchObject({ thinking: { budget_tokens: 4_000 }, max_tokens: 4_500 });
  });

  interface Block {
    readonly type: string;
    readonly cache_control?: object;
  }
  const markersOf = (content: unknown) =>
    Array.isArray(content) ? content.map((block: Block) => block.cache_control !== undefined) : content;

  const rounds = (count: number): Message[] =>
    Array.from({ length: count }, (_, round): Message[] => [
      {
        role: "assistant",
        parts: [0, 1].map((index) => ({
          type: "tool-call",
          callId: `functions.t:${round}.${index}`,
          tool: "terminal",
          input: "{}",
        })),
      },
      ...[0, 1].map((index): Message => {
        const callId = `functions.t:${round}.${index}`;
        return { role: "tool", callId, tool: "terminal", text: "ok", failed: index === 1 };
      }),
    ]).flat();

  async function send(more: Partial<AnthropicOptions>, ...messages: readonly (Message | string)[]) {
    await using server = await startScriptedServer({ answers: [{ text: "Hi.", times: 9 }] });
    const model = open(testOptions(server.url), more);
    const events = await collect(model.stream(ask(...messages), createTestSignal()));
    const [sent] = server.requests;
    if (sent === undefined) throw new Error("nothing was sent");
    return { ...sent, events };
  }

  it("A9: marks the system prompt and the last three messages, and nothing else", async () => {
    const { body } = await send({}, "hi", ...rounds(3));
    expect(markersOf(body["system"])).toEqual([true]);
    expect(body.messages.map(({ content }) => markersOf(content))).toEqual([
      [false],
      [false, false],
      [false, false],
      [false, false],
      [false, true],
      [false, true],
      [false, true],
    ]);
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
    expect(JSON.stringify(body)).not.toContain("ttl");
  });

  it("A9: requests a cache lifetime of one hour if configured", async () => {
    const { body } = await send({ cacheTtl: "1h" }, "hi");
    expect(JSON.stringify(body).match(/"cache_control":\{"type":"ephemeral","ttl":"1h"\}/g)).toHaveLength(2);
  });

  it("sends foreign call ids in characters that the format allows, and marks failed results", async () => {
    const { body } = await send({}, "hi", ...rounds(1));
    expect(body.messages[1]?.content).toMatchObject([
      { type: "tool_use", id: "functions_t_0_0", input: {} },
      { type: "tool_use", id: "functions_t_0_1" },
    ]);
    expect(body.messages[2]?.content).toMatchObject([
      { type: "tool_result", tool_use_id: "functions_t_0_0" },
      { type: "tool_result", tool_use_id: "functions_t_0_1", is_error: true },
    ]);
  });

  it("sends a note after the results of tools, in the same message", async () => {
    const steer: Message = { role: "user", kind: "steer", parts: [{ type: "text", text: "hurry" }] };
    const { body } = await send({}, "hi", ...rounds(1), steer);
    expect(body.messages).toHaveLength(3);
    expect(body.messages[2]?.content).toMatchObject([{}, {}, { type: "text", text: "hurry" }]);
  });

  it("sends signed reasoning back unchanged", async () => {
    await using server = await startScriptedServer({
      answers: [{ reasoning: "Hm.", text: "A." }, { text: "B." }],
    });
    const model = open(testOptions(server.url));
    const message = messageOf(await collect(model.stream(ask("hi"), createTestSignal())));
    const stored = JSON.parse(JSON.stringify(message)) as Message;
    messageOf(await collect(model.stream(ask("hi", stored, "and?"), createTestSignal())));
    expect(server.requests[1]?.body.messages[1]?.content).toMatchObject([
      { type: "thinking", thinking: "Hm.", signature: "signature-of-the-script" },
      { type: "text", text: "A." },
    ]);
  });

  it("continues a paused answer: the whole answer is sent back and stays in the conversation", async () => {
    const search = { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } };
    const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [{ url: "u" }] };
    const thought = { type: "thinking", thinking: "Hm.", signature: "sig" };
    const answers = [
      {
        content: [thought, search],
        stop_reason: "pause_turn",
        usage: { input_tokens: 10, output_tokens: 1 },
      },
      {
        content: [found, { type: "text", text: "A." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 20, output_tokens: 2 },
      },
    ];
    await using server = await startScriptedServer(
      { answers: [{ text: "B.", times: 9 }] },
      {
        misbehave(index) {
          const body = JSON.stringify(answers[index]);
          const headers = { "content-type": "application/json" };
          return index < answers.length ? { type: "answer", status: 200, body, headers } : undefined;
        },
      },
    );
    const model = open(testOptions(server.url));
    const events = await collect(model.stream(ask("hi"), createTestSignal()));
    expect(lastOf(events)).toMatchObject({ finish: "stop", usage: { inputTokens: 30, outputTokens: 3 } });
    const stored = JSON.parse(JSON.stringify(messageOf(events))) as Message;
    messageOf(await collect(model.stream(ask("hi", stored, "and?"), createTestSignal())));
    const sent = server.requests.map(({ body }) => body.messages.slice(1, 2));
    expect(sent).toMatchObject([
      [],
      [{ role: "assistant", content: [thought, search] }],
      [{ role: "assistant", content: [thought, search, found, { type: "text", text: "A." }] }],
    ]);
  });

  it("counts cached parts of the prompt as input", async () => {
    const usage = { input: 100, cache_read: 70, cache_write: 20, output: 5 };
    await using server = await startScriptedServer({ answers: [{ text: "A.", usage }] });
    const last = lastOf(await collect(open(testOptions(server.url)).stream(ask("hi"), createTestSignal())));
    expect(last).toMatchObject({
      usage: { inputTokens: 100, cacheReadTokens: 70, cacheWriteTokens: 20, outputTokens: 5 },
    });
  });

  it("M6: a request without a key does not take one from the environment", async () => {
    const before = process.env["ANTHROPIC_API_KEY"];
    process.env["ANTHROPIC_API_KEY"] = "sk-ant-of-the-environment";
    try {
      const { headers, events } = await send({ apiKey: undefined }, "hi");
      expect(messageOf(events).parts).toMatchObject([{ text: "Hi." }]);
      expect(headers).not.toHaveProperty("x-api-key");
      expect(JSON.stringify(headers)).not.toContain("sk-ant");
    } finally {
      if (before === undefined) delete process.env["ANTHROPIC_API_KEY"];
      else process.env["ANTHROPIC_API_KEY"] = before;
    }
  });

  it("requests a large output limit from an unknown model, and a smaller one if the server refuses it", async () => {
    const refusals = [
      "max_tokens: 64000 > 20000, which is the maximum allowed number of output tokens for test-model",
      "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
      "input length and `max_tokens` exceed context limit: 5192 + 8192 > 12000",
      "This model's maximum context length is 6000 tokens. However, you requested 6808 output tokens and your prompt contains at least 1000 input tokens.",
      "max_tokens is too large",
    ];
    await using server = await startScriptedServer(
      { answers: [{ text: "Hi.", times: 9 }] },
      {
        misbehave(index) {
          const body = JSON.stringify({ error: { message: refusals[index] } });
          return index < refusals.length ? { type: "answer", status: 400, body } : undefined;
        },
      },
    );
    const model = open(testOptions(server.url, { contextTokens: undefined }));
    messageOf(await collect(model.stream(ask("hi"), createTestSignal())));
    messageOf(await collect(model.stream(ask("hi"), createTestSignal())));
    messageOf(await collect(model.stream({ ...ask("hi"), maxOutputTokens: 777 }, createTestSignal())));
    expect(server.requests.map(({ body }) => body["max_tokens"])).toEqual([
      64_000, 20_000, 8_192, 6_808, 5_000, 2_500, 2_500, 777,
    ]);
  });

  it("adds overrides to the request body", async () => {
    const { body } = await send({ requestOverrides: { top_k: 3 } }, "hi");
    expect(body).toMatchObject({ top_k: 3, model: "test-model" });
  });
});
