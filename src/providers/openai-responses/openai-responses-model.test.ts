import { describe, expect, it } from "vitest";
import { startAimock } from "../../../test/support/aimock.ts";
import { type Misbehaviour, startScriptedServer } from "../../../test/support/scripted-server.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, providerContract } from "../provider.contract.ts";
import type { ModelRequest } from "../provider.ts";
import type { WireOptions } from "../wire/wire-model.ts";
import { testOptions, wireContract } from "../wire.contract.ts";
import { openOpenaiResponsesModel as open } from "./openai-responses-model.ts";

describe("openai-responses against an independent server", () => {
  providerContract(async (script) => {
    const server = await startAimock(script);
    return {
      model: open(testOptions(server.url)),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

describe("openai-responses against a failing server", () => {
  const errorEvent = { type: "error", code: "server_error", message: "the model crashed", param: null };
  wireContract(open, { beforeText: 2, beforeInput: 8, errorEvent });
});

describe("openai-responses on the wire", () => {
  const question = (...messages: readonly (Message | string)[]): ModelRequest => ({
    ...ask(...messages),
    maxOutputTokens: 99,
    reasoningEffort: "xhigh",
    conversationId: "conv-1",
  });

  async function openLab(
    more: Partial<WireOptions> = {},
    misbehave?: (index: number) => Misbehaviour | undefined,
  ) {
    const tools = [{ name: "terminal", input: '{"b": 12345678901234567890, "a": 1}' }];
    const answers = [
      { reasoning: "I think.", text: "Let me see.", tools },
      { text: "Hi.", times: 9 },
    ];
    const server = await startScriptedServer({ answers }, misbehave === undefined ? {} : { misbehave });
    const model = open(testOptions(server.url, { name: "gpt-5", ...more }));
    return {
      server,
      model,
      ask: async (...messages: readonly (Message | string)[]) =>
        messageOf(await collect(model.stream(question(...messages), createTestSignal()))),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }
  const result = (callId: string): Message => ({
    role: "tool",
    callId,
    tool: "terminal",
    text: "ok",
    failed: false,
  });
  const IMAGE_MESSAGE: Message = {
    role: "user",
    parts: [
      { type: "text", text: "look" },
      { type: "image", mediaType: "image/png", data: "AAAA" },
    ],
  };

  it("stores nothing at the server, asks for encrypted reasoning, and sends the key only in its header", async () => {
    await using lab = await openLab({ requestOverrides: { service_tier: "flex", input: "lost" } });
    await lab.ask(IMAGE_MESSAGE);
    const [sent] = lab.server.requests;
    expect(sent).toMatchObject({
      path: "/v1/responses",
      headers: { authorization: "Bearer sk-test-0123456789abcdefghij" },
      body: {
        model: "gpt-5",
        store: false,
        stream: true,
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "high", summary: "auto" },
        max_output_tokens: 99,
        service_tier: "flex",
        input: [
          { role: "system", content: "You are a test." },
          {
            role: "user",
            content: [
              { type: "input_text", text: "look" },
              { type: "input_image", image_url: "data:image/png;base64,AAAA" },
            ],
          },
        ],
      },
    });
    expect(sent?.body["tools"]).toMatchObject([
      { type: "function", name: "terminal", strict: false },
      { type: "function", name: "read_file", strict: false },
    ]);
    expect(JSON.stringify(sent?.body)).not.toContain("sk-test");
  });

  it("A9: sends the conversation's id as the cache key", async () => {
    await using lab = await openLab();
    await lab.ask("hi");
    expect(lab.server.requests[0]?.body).toMatchObject({ prompt_cache_key: "conv-1" });
  });

  it("A10: sends reasoning back unchanged, before the text and the call that it led to", async () => {
    await using lab = await openLab();
    const answer = await lab.ask("hi");
    await lab.ask("hi", answer, result("call_1_0"));
    expect(lab.server.requests[1]?.body["input"]).toEqual([
      { role: "system", content: "You are a test." },
      { role: "user", content: "hi" },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "I think." }],
        encrypted_content: "encrypted-by-the-script",
      },
      { role: "assistant", content: "Let me see." },
      {
        type: "function_call",
        call_id: "call_1_0",
        name: "terminal",
        arguments: '{"b": 12345678901234567890, "a": 1}',
      },
      { type: "function_call_output", call_id: "call_1_0", output: "ok" },
    ]);
  });

  it("A10: omits reasoning from another provider, and reasoning that no answer followed", async () => {
    await using lab = await openLab({ provider: "own" });
    const item = { type: "reasoning", id: "rs_9", summary: [], encrypted_content: "x" };
    const thought = (provider: string): Message => ({
      role: "assistant",
      parts: [{ type: "reasoning", text: "Hm.", vendor: { openai: { provider, item } } }],
    });
    await lab.ask("hi", thought("own"), "and?", thought("foreign"), "now?");
    const sent = JSON.stringify(lab.server.requests[0]?.body["input"]);
    expect(sent).not.toContain("rs_9");
    expect(sent.match(/\[No text\.\]/g)).toHaveLength(2);
  });

  it.each([
    ["encrypted reasoning", "Encrypted content is not supported with this model.", '"include":'],
    ["reasoning it cannot verify", "The encrypted content gAAA… could not be verified.", '"include":'],
    ["a summary", "Your organization must be verified to generate reasoning summaries.", '"summary":"auto"'],
    ["a cache key", "Unknown parameter: 'prompt_cache_key'.", '"prompt_cache_key":'],
  ])(
    "a request refused because of %s is sent again without it, and so are all later requests",
    async (_, message, field) => {
      const body = JSON.stringify({ error: { message, type: "invalid_request_error" } });
      await using lab = await openLab({}, (index) =>
        index === 0 ? { type: "answer", status: 400, body } : undefined,
      );
      const answer = await lab.ask("hi");
      await lab.ask("hi", answer, result("call_2_0"));
      expect(lab.server.requests.map((request) => JSON.stringify(request.body).includes(field))).toEqual([
        true,
        false,
        false,
      ]);
    },
  );

  it("requests no reasoning from a model that cannot reason", async () => {
    await using lab = await openLab({ name: "gpt-4.1" });
    await collect(lab.model.stream(ask("hi"), createTestSignal()));
    expect(lab.server.requests[0]?.body).not.toHaveProperty("include");
    expect(lab.server.requests[0]?.body).not.toHaveProperty("reasoning");
  });

  it("reports cached and reasoning tokens", async () => {
    const usage = { input: 120, cache_read: 100, output: 7, reasoning: 5 };
    await using server = await startScriptedServer({ answers: [{ text: "Hi.", usage }] });
    const events = await collect(open(testOptions(server.url)).stream(ask("hi"), createTestSignal()));
    expect(lastOf(events)).toMatchObject({
      usage: { inputTokens: 120, cacheReadTokens: 100, outputTokens: 7, reasoningTokens: 5 },
    });
  });
});
