import { describe, expect, it } from "vitest";
import { startAimock } from "../../../test/support/aimock.ts";
import { startScriptedServer } from "../../../test/support/scripted-server.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, providerContract } from "../provider.contract.ts";
import type { ModelRequest } from "../provider.ts";
import type { ScriptInput } from "../scripted/script.ts";
import type { WireOptions } from "../wire/wire-model.ts";
import { testOptions, wireContract } from "../wire.contract.ts";
import { openGoogleModel as open } from "./google-model.ts";

describe("google against an independent server", () => {
  providerContract(async (script) => {
    const server = await startAimock(script);
    return {
      model: open(testOptions(server.url, { baseUrl: `${server.url}/v1beta` })),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

describe("google against a server with the rules of Gemini", () => {
  providerContract(async (script) => {
    const server = await startScriptedServer(script);
    return {
      model: open(testOptions(server.url, { name: "gemini-3-pro" })),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

describe("google against a failing server", () => {
  const errorEvent = { error: { code: 503, message: "The model is overloaded", status: "UNAVAILABLE" } };
  wireContract(open, {
    beforeText: 0,
    beforeInput: 3,
    errorEvent,
    noRawInput: "the server parses the input of calls",
  });
});

describe("google on the wire", () => {
  const answers = [
    { reasoning: "I think.", tools: [{ name: "terminal", input: { command: "ls" } }, { name: "terminal" }] },
    { text: "Hi.", times: 9 },
  ];
  const result = (callId: string, failed = false): Message => ({
    role: "tool",
    callId,
    tool: "terminal",
    text: "ok",
    failed,
  });

  async function openLab(more: Partial<WireOptions> = {}, script: ScriptInput = { answers }) {
    const server = await startScriptedServer(script);
    const model = open(testOptions(server.url, { name: "gemini-3-pro", ...more }));
    return {
      server,
      async ask(request: ModelRequest | string) {
        const asked = typeof request === "string" ? ask(request) : request;
        return collect(model.stream(asked, createTestSignal()));
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }

  it("sends system prompt, tools, images and limits, and the key only in its header", async () => {
    const overrides = { safetySettings: [], generationConfig: { temperature: 0 }, contents: [] };
    await using lab = await openLab({ requestOverrides: overrides });
    const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
    const message: Message = { role: "user", parts: [{ type: "text", text: "look" }, image] };
    messageOf(await lab.ask({ ...ask(message), maxOutputTokens: 99, reasoningEffort: "medium" }));
    const [sent] = lab.server.requests;
    expect(sent?.path).toBe("/v1/models/gemini-3-pro:streamGenerateContent?alt=sse");
    expect(sent?.headers).toMatchObject({ "x-goog-api-key": "sk-test-0123456789abcdefghij" });
    expect(sent?.body).toEqual({
      systemInstruction: { parts: [{ text: "You are a test." }] },
      contents: [
        { role: "user", parts: [{ text: "look" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      ],
      tools: [
        {
          functionDeclarations: [
            {
              name: "terminal",
              description: "Runs a command",
              parameters: {
                type: "object",
                properties: { command: { type: "string" } },
                required: ["command"],
              },
            },
            { name: "read_file", description: "Reads a file" },
          ],
        },
      ],
      generationConfig: {
        maxOutputTokens: 99,
        thinkingConfig: { includeThoughts: true, thinkingLevel: "high" },
        temperature: 0,
      },
      safetySettings: [],
    });
  });

  it("A10: sends the signature of a call back unchanged, and the results of all calls of one answer in one message", async () => {
    await using lab = await openLab();
    const answer = messageOf(await lab.ask("hi"));
    const note: Message = { role: "user", kind: "steer", parts: [{ type: "text", text: "hurry" }] };
    messageOf(await lab.ask(ask("hi", answer, result("call_0"), result("call_1", true), note)));
    expect(lab.server.requests[1]?.body["contents"]).toEqual([
      { role: "user", parts: [{ text: "hi" }] },
      {
        role: "model",
        parts: [
          { functionCall: { name: "terminal", args: { command: "ls" } }, thoughtSignature: "c2lnbmF0dXJl" },
          { functionCall: { name: "terminal", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "terminal", response: { output: "ok" } } },
          { functionResponse: { name: "terminal", response: { error: "ok" } } },
        ],
      },
      { role: "user", parts: [{ text: "hurry" }] },
    ]);
  });

  it("continues a conversation with calls of another provider's model", async () => {
    await using lab = await openLab();
    const call = { type: "tool-call", callId: "c1", tool: "terminal", input: "{broken" } as const;
    const thought = { type: "reasoning", text: "Hm.", vendor: { anthropic: { signature: "x" } } } as const;
    const foreign: Message = { role: "assistant", parts: [thought, call] };
    messageOf(await lab.ask(ask("hi", foreign, result("c1"))));
    const sent = JSON.stringify(lab.server.requests[0]?.body);
    expect(sent).toContain("skip_thought_signature_validator");
    expect(sent).not.toContain("Hm.");
  });

  it("sends back the id that the server gave to a call", async () => {
    await using lab = await openLab();
    const call = { type: "tool-call", callId: "a", tool: "terminal", input: "{}" } as const;
    const answer: Message = { role: "assistant", parts: [{ ...call, vendor: { google: { id: "own-1" } } }] };
    messageOf(await lab.ask(ask("hi", answer, result("a"))));
    expect(lab.server.requests[0]?.body["contents"]).toMatchObject([
      {},
      { parts: [{ functionCall: { id: "own-1" } }] },
      { parts: [{ functionResponse: { id: "own-1" } }] },
    ]);
  });

  it("reports cached and reasoning tokens", async () => {
    const usage = { input: 120, cache_read: 100, output: 7, reasoning: 5 };
    await using lab = await openLab({}, { answers: [{ text: "Hi.", usage }] });
    expect(lastOf(await lab.ask("hi"))).toMatchObject({
      usage: { inputTokens: 120, cacheReadTokens: 100, outputTokens: 7, reasoningTokens: 5 },
    });
  });
});
