import { describe, expect, it } from "vitest";
import { startAimock } from "../../../test/support/aimock.ts";
import { startScriptedServer } from "../../../test/support/scripted-server.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, messageOf, providerContract } from "../provider.contract.ts";
import type { WireOptions } from "../wire/wire-model.ts";
import { testOptions, wireContract } from "../wire.contract.ts";
import { type OpenaiCompatibleOptions, openOpenaiCompatibleModel } from "./openai-compatible-model.ts";

function open(options: WireOptions, more: Partial<OpenaiCompatibleOptions> = {}) {
  return openOpenaiCompatibleModel({
    ...options,
    replayReasoning: true,
    outputLimitField: "max_tokens",
    asksForUsage: true,
    cacheTtl: undefined,
    conversationHeader: undefined,
    ...more,
  });
}

describe("openai-compatible against an independent server", () => {
  providerContract(async (script) => {
    const server = await startAimock(script);
    return {
      model: open(testOptions(server.url)),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

describe("openai-compatible against a failing server", () => {
  const errorEvent = { error: { message: "the model crashed", type: "server_error" } };
  wireContract(open, { beforeText: 0, beforeInput: 5, errorEvent });
});

describe("openai-compatible on the wire", () => {
  it("pieces that arrive together are one event, and an error after them does not remove them", async () => {
    const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const body = `${piece("Once")}${piece(" upon")}${piece(" a time")}data: {"error":{"message":"crashed"}}\n\n`;
    const headers = { "content-type": "text/event-stream" };
    await using server = await startScriptedServer(
      { answers: [{ text: "never sent" }] },
      { misbehave: () => ({ type: "answer", status: 200, body, headers }) },
    );
    const model = open(testOptions(server.url));
    const events = await collect(model.stream(ask("hi"), createTestSignal()));
    expect(events.slice(1, -1)).toEqual([{ type: "text-delta", text: "Once upon a time" }]);
    expect(events.at(-1)).toMatchObject({ type: "failed", failure: { kind: "unavailable", sawText: true } });
  });

  const call = (vendor?: object): Message => ({
    role: "assistant",
    parts: [
      { type: "reasoning", text: "I think." },
      {
        type: "tool-call",
        callId: "c1",
        tool: "terminal",
        input: '{"b": 12345678901234567890, "a": 1}',
        ...(vendor === undefined ? {} : { vendor: vendor as Record<string, unknown> }),
      },
    ],
  });
  const result: Message = { role: "tool", callId: "c1", tool: "terminal", text: "ok", failed: false };

  async function bodyOf(more: Partial<OpenaiCompatibleOptions>, ...messages: readonly (Message | string)[]) {
    await using server = await startScriptedServer({ answers: [{ text: "Hi.", times: 5 }] });
    const model = open(testOptions(server.url, { headers: { "x-extra": "1" } }), more);
    const request = {
      ...ask(...messages),
      maxOutputTokens: 99,
      reasoningEffort: "high" as const,
      conversationId: "conv-1",
    };
    messageOf(await collect(model.stream(request, createTestSignal())));
    const [sent] = server.requests;
    if (sent === undefined) throw new Error("nothing was sent");
    return sent;
  }

  it("requests usage, sends the effort, and sends the key only in its header", async () => {
    const { body, headers } = await bodyOf({}, "hi");
    expect(body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 99,
      reasoning_effort: "high",
    });
    expect(headers).toMatchObject({ authorization: "Bearer sk-test-0123456789abcdefghij", "x-extra": "1" });
  });

  it("sends the output limit in the field that the provider expects", async () => {
    const { body } = await bodyOf({ outputLimitField: "max_completion_tokens" }, "hi");
    expect(body).toMatchObject({ max_completion_tokens: 99 });
    expect(body).not.toHaveProperty("max_tokens");
  });

  it("A9: sends the conversation's id to a provider that routes by it", async () => {
    const { headers } = await bodyOf({ conversationHeader: "x-grok-conv-id" }, "hi");
    expect(headers["x-grok-conv-id"]).toBe("conv-1");
  });

  it("sends a call back byte for byte, and its result under its id", async () => {
    const { body } = await bodyOf({}, "hi", call(), result);
    expect(body.messages).toMatchObject([
      { role: "system" },
      { role: "user", content: "hi" },
      {
        role: "assistant",
        reasoning_content: "I think.",
        tool_calls: [
          { id: "c1", function: { name: "terminal", arguments: '{"b": 12345678901234567890, "a": 1}' } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ]);
  });

  it("A10: does not send reasoning back to a provider without a field for it", async () => {
    const { body } = await bodyOf({ replayReasoning: false }, "hi", call(), result);
    expect(JSON.stringify(body)).not.toContain("I think");
  });

  it("sends a call's thought signature back unchanged", async () => {
    const { body } = await bodyOf({}, "hi", call({ google: { thoughtSignature: "sig-1" } }), result);
    expect(JSON.stringify(body.messages)).toContain(
      '"extra_content":{"google":{"thought_signature":"sig-1"}}',
    );
  });

  it("sends requests without stream_options from then on to a server that refuses them", async () => {
    await using server = await startScriptedServer(
      { answers: [{ text: "Hi.", times: 5 }] },
      {
        misbehave: (_, { body }) =>
          "stream_options" in body
            ? {
                type: "answer",
                status: 400,
                body: '{"error":{"message":"Unrecognized request argument supplied: stream_options"}}',
              }
            : undefined,
      },
    );
    const model = open(testOptions(server.url));
    for (const _ of [1, 2]) messageOf(await collect(model.stream(ask("hi"), createTestSignal())));
    expect(server.requests.map(({ body }) => "stream_options" in body)).toEqual([true, false, false]);
  });

  it("adds overrides to the body", async () => {
    const { body } = await bodyOf({ requestOverrides: { provider: { sort: "price" } } }, "hi");
    expect(body).toMatchObject({ provider: { sort: "price" } });
  });
});
