import { describe, expect, it } from "vitest";
import type { Message } from "../message.ts";
import type { ModelRequest } from "../provider.ts";
import { type ChatBody, type ChatRules, createChatWriter } from "./chat-request.ts";

const rules: ChatRules = {
  provider: "old",
  model: "m",
  replayReasoning: false,
  outputLimitField: "max_tokens",
  asksForUsage: true,
  cacheTtl: undefined,
  requestOverrides: {},
};
const tools = [{ name: "look", description: "Looks", inputSchema: { type: "object" } }];
const say = (text: string) => ({ role: "user", parts: [{ type: "text", text }] }) satisfies Message;
const request = (...messages: readonly Message[]): ModelRequest => ({ messages, tools });
const parsed = ({ body }: ChatBody) => JSON.parse(`${body}`) as Record<string, unknown>;

it.each([
  ["o3", "none", "low"],
  ["o3", "minimal", "low"],
  ["o4-mini", "xhigh", "high"],
  ["gpt-5", "none", "minimal"],
  ["gpt-5-mini-2025-08-07", "ultra", "high"],
  ["gpt-5-pro", "low", "high"],
  ["gpt-5.1", "minimal", "low"],
  ["gpt-5.1", "none", "none"],
  ["gpt-5.2", "xhigh", "xhigh"],
  ["openai/o3", "none", "none"],
  ["qwen3", "ultra", "ultra"],
] as const)("for %s the effort %s is sent as %s", (model, reasoningEffort, effort) => {
  const write = createChatWriter({ ...rules, model });
  expect(parsed(write({ ...request(say("hi")), reasoningEffort }))["reasoning_effort"]).toBe(effort);
});

it("a message is serialized once, even if it is sent many times", () => {
  let asked = 0;
  const counted: Message = {
    role: "tool",
    callId: "c",
    tool: "look",
    failed: false,
    get text() {
      asked++;
      return "seen";
    },
  };
  const write = createChatWriter(rules);
  const bodies = [write(request(say("a"), counted)), write(request(say("a"), counted, say("b")))];
  expect(asked).toBe(1);
  expect(bodies.map((body) => parsed(body)["messages"])).toMatchObject([
    [{ content: "a" }, { content: "seen" }],
    [{ content: "a" }, { content: "seen" }, { content: "b" }],
  ]);
});

it("a history that grew, was cut or changed is sent in its current form", () => {
  const write = createChatWriter(rules);
  const [a, b, c, d] = [say("a"), say("b"), say("ç"), say("d")];
  for (const messages of [[a, b], [a, b, c, d], [a, b, c], [b, c], [a], [a, d], []]) {
    const contents = messages.map(({ parts }) => ({ content: parts[0]?.text }));
    expect(parsed(write(request(...messages)))["messages"]).toMatchObject(contents);
  }
});

it("hashes depend only on the sent text: first the tools, then each message", () => {
  const write = createChatWriter(rules);
  const first = write(request(say("a"), say("b"))).pieceHashes();
  expect(write(request(say("a"), say("b"))).pieceHashes()).toEqual(first); // other objects, the same text
  expect(
    write(request(say("a"), say("c")))
      .pieceHashes()
      .slice(0, 2),
  ).toEqual(first.slice(0, 2));
  expect(write(request(say("a"), say("c"))).pieceHashes()[2]).not.toBe(first[2]);
  const others = { ...request(say("a"), say("b")), tools: [] };
  expect(write(others).pieceHashes()[0]).not.toBe(first[0]);
  expect(write(others).pieceHashes().slice(1)).toEqual(first.slice(1));
});

it("overrides replace any field except messages and stream", () => {
  const requestOverrides = { tools: [], temperature: 1, messages: [], stream: false, model: "other" };
  const body = createChatWriter({ ...rules, requestOverrides })(request(say("a")));
  expect(parsed(body)).toMatchObject({ tools: [], temperature: 1, stream: true, model: "other" });
  expect(parsed(body)["messages"]).toHaveLength(1);
});

it("images are sent as data, and an empty answer is sent as a placeholder", () => {
  const image: Message = {
    role: "user",
    parts: [
      { type: "text", text: "what is it?" },
      { type: "image", mediaType: "image/png", data: "AAAA" },
    ],
  };
  const empty: Message = { role: "assistant", parts: [{ type: "text", text: " " }] };
  expect(parsed(createChatWriter(rules)(request(image, empty)))["messages"]).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "what is it?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    },
    { role: "assistant", content: "[No text.]" },
  ]);
});

it("an empty list of tools and an unset output limit are not sent", () => {
  const body = parsed(createChatWriter(rules)({ messages: [say("a")], tools: [] }));
  expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "stream", "stream_options"]);
});

it("a function_call is sent back as such to its own provider, and as a tool call to any other", () => {
  const messages: Message[] = [
    say("a"),
    {
      role: "assistant",
      parts: [
        {
          type: "tool-call",
          callId: "call_0",
          tool: "look",
          input: "{}",
          vendor: { functionCall: { provider: "old" } },
        },
      ],
    },
    { role: "tool", callId: "call_0", tool: "look", text: "seen", failed: false },
  ];
  const sent = (provider: string) => {
    const write = createChatWriter({ ...rules, provider });
    return parsed(write(request(...messages)))["messages"];
  };
  expect(sent("old")).toEqual([
    { role: "user", content: "a" },
    { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } },
    { role: "function", name: "look", content: "seen" },
  ]);
  expect(sent("new")).toEqual([
    { role: "user", content: "a" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_0", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_0", content: "seen" },
  ]);
});

describe("A9: cache markers for Claude models behind a router", () => {
  const result = { role: "tool", callId: "c", tool: "look", text: "seen", failed: false } satisfies Message;
  const call: Message = {
    role: "assistant",
    parts: [{ type: "tool-call", callId: "c", tool: "look", input: "{}" }],
  };
  const history: readonly Message[] = [
    { role: "system", text: "You are a test." },
    say("a"),
    { role: "assistant", parts: [{ type: "text", text: "b" }] },
    say("c"),
    call,
    result,
  ];
  const markersIn = (body: ChatBody) =>
    (parsed(body)["messages"] as { content: unknown }[]).map(({ content }) =>
      Array.isArray(content)
        ? content.map((block: { cache_control?: unknown }) => block.cache_control)
        : content,
    );

  it("mark the system prompt and the last three messages with text", () => {
    const marker = [{ type: "ephemeral" }];
    const write = createChatWriter({ ...rules, cacheTtl: "5m" });
    expect(markersIn(write(request(...history)))).toEqual([marker, "a", marker, marker, null, marker]);
    const hour = createChatWriter({ ...rules, cacheTtl: "1h" });
    expect(markersIn(hour(request(say("a"))))).toEqual([[{ type: "ephemeral", ttl: "1h" }]]);
  });

  it("move without a change of the prefix", () => {
    const write = createChatWriter({ ...rules, cacheTtl: "5m" });
    const before = write(request(...history)).pieceHashes();
    const after = write(request(...history, say("d"))).pieceHashes();
    expect(after.slice(0, before.length)).toEqual(before);
  });
});

it("A10: reasoning details are sent back unchanged, but only to the model that they came from", () => {
  const details = [{ type: "reasoning.text", text: "Hm.", signature: "c2ln", index: 0 }];
  const vendor = { reasoningDetails: { provider: "old", model: "m", details } };
  const thought: Message = {
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Hm.", vendor },
      { type: "text", text: "Hi." },
    ],
  };
  const sent = (other: Partial<ChatRules>) =>
    parsed(createChatWriter({ ...rules, ...other })(request(thought)))["messages"];
  expect(sent({})).toEqual([{ role: "assistant", content: "Hi.", reasoning_details: details }]);
  for (const other of [{ provider: "new" }, { model: "n" }])
    expect(sent(other)).toEqual([{ role: "assistant", content: "Hi." }]);
});

it("a server that refuses stream_options does not get them", () => {
  const body = parsed(createChatWriter({ ...rules, asksForUsage: false })(request(say("hi"))));
  expect(body).not.toHaveProperty("stream_options");
});
