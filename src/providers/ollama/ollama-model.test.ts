import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { startScriptedServer } from "../../../test/support/scripted-server.ts";
import type { Message } from "../message.ts";
import { ask, collect, createTestSignal, lastOf, messageOf, providerContract } from "../provider.contract.ts";
import type { ModelRequest } from "../provider.ts";
import type { ScriptInput } from "../scripted/script.ts";
import { testOptions, wireContract } from "../wire.contract.ts";
import { type OllamaOptions, openOllamaModel } from "./ollama-model.ts";

const open = (options: Partial<OllamaOptions> & Omit<OllamaOptions, "windowTokens">) =>
  openOllamaModel({ windowTokens: 65_536, ...options });

describe("Ollama's API against a scripted server", () => {
  providerContract(
    async (script) => {
      const server = await startScriptedServer(script);
      return {
        model: open(testOptions(server.url)),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
    { noUsage: "Ollama counts neither cached tokens nor reasoning" },
  );
});

describe("Ollama's API against a failing server", () => {
  wireContract(open, {
    beforeText: 0,
    beforeInput: 3,
    errorEvent: { error: "the model is overloaded", code: 503 },
    noRawInput: "the server parses the input of calls",
  });
});

describe("Ollama's API on the wire", () => {
  async function openLab(
    more: Partial<OllamaOptions> = {},
    script: ScriptInput = { answers: [{ text: "Hi." }] },
  ) {
    const server = await startScriptedServer(script);
    const model = open({ ...testOptions(server.url), ...more });
    return {
      server,
      ask: async (request: ModelRequest) =>
        messageOf(await collect(model.stream(request, createTestSignal()))),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }

  it("M6: sends the context window as num_ctx, with tools, images, limits and overrides", async () => {
    const requestOverrides = { keep_alive: "1h", options: { temperature: 0 }, messages: [] };
    await using lab = await openLab({ requestOverrides });
    const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
    const message: Message = { role: "user", parts: [{ type: "text", text: "look" }, image] };
    await lab.ask({ ...ask(message), maxOutputTokens: 99, reasoningEffort: "none" });
    const [sent] = lab.server.requests;
    expect(sent?.path).toBe("/api/chat");
    expect(sent?.body).toMatchObject({
      model: "test-model",
      stream: true,
      think: false,
      keep_alive: "1h",
      options: { num_ctx: 65_536, num_predict: 99, temperature: 0 },
      messages: [
        { role: "system", content: "You are a test." },
        { role: "user", content: "look", images: ["AAAA"] },
      ],
      tools: [{ type: "function", function: { name: "terminal" } }, {}],
    });
  });

  it("A10: sends reasoning, calls and results back in Ollama's form", async () => {
    const answers = [
      { reasoning: "Hm.", tools: [{ name: "terminal", input: { command: "ls" } }] },
      { text: "Done." },
    ];
    await using lab = await openLab({}, { answers });
    const answer = await lab.ask(ask("hi"));
    const result: Message = {
      role: "tool",
      callId: "call_0",
      tool: "terminal",
      text: "a.txt",
      failed: false,
    };
    await lab.ask(ask("hi", answer, result));
    expect(lab.server.requests[1]?.body.messages.slice(2)).toEqual([
      {
        role: "assistant",
        content: "",
        thinking: "Hm.",
        tool_calls: [{ function: { name: "terminal", arguments: { command: "ls" } } }],
      },
      { role: "tool", tool_name: "terminal", content: "a.txt" },
    ]);
  });

  it.each([
    ["gpt-oss:20b", "minimal", "low"],
    ["gpt-oss:20b", "ultra", "high"],
    ["qwen3:8b", "low", true],
    ["qwen3:8b", "none", false],
  ] as const)("%s with the effort %s thinks: %s", async (name, reasoningEffort, think) => {
    await using lab = await openLab({ name });
    await lab.ask({ ...ask("hi"), reasoningEffort });
    expect(lab.server.requests[0]?.body["think"]).toBe(think);
  });

  it.each([
    ["an error as text", 404, '{"error":"model \'x\' not found"}', "not-found", "model 'x' not found"],
    ["a missing ability", 400, '{"error":"m does not support tools"}', "refused", "does not support tools"],
    [
      "an error in a line",
      200,
      '{"error":"llama runner process has terminated"}\n',
      "unavailable",
      "has terminated",
    ],
    ["something else", 200, "[1]\n", "malformed", ""],
  ] as const)("%s is a failure with its text", async (_, status, body, kind, text) => {
    const server = createServer((_request, response) =>
      response.writeHead(status, { "content-type": "application/x-ndjson" }).end(body),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const model = open(testOptions(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    const last = lastOf(await collect(model.stream(ask("hi"), createTestSignal())));
    server.close();
    expect(last).toMatchObject({ type: "failed", failure: { kind, message: expect.stringContaining(text) } });
  });
});
