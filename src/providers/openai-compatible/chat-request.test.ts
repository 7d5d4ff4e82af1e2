import { expect, it } from "vitest";
import type { Message } from "../message.ts";
import type { ModelRequest } from "../provider.ts";
import { type ChatBody, type ChatRules, createChatWriter } from "./chat-request.ts";

const rules: ChatRules = {
  provider: "old",
  model: "m",
  replayReasoning: false,
  outputLimitField: "max_tokens",
  requestOverrides: {},
};
const tools = [{ name: "look", description: "Looks", inputSchema: { type: "object" } }];
const say = (text: string) => ({ role: "user", parts: [{ type: "text", text }] }) satisfies Message;
const request = (...messages: readonly Message[]): ModelRequest => ({ messages, tools });
const parsed = ({ bytes }: ChatBody) => JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;

it("a message is turned into text once, however often it is sent", () => {
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

it("a history that grew, was cut or changed goes out as it is now", () => {
  const write = createChatWriter(rules);
  const [a, b, c, d] = [say("a"), say("b"), say("ç"), say("d")];
  for (const messages of [[a, b], [a, b, c, d], [a, b, c], [b, c], [a], [a, d], []]) {
    const contents = messages.map(({ parts }) => ({ content: parts[0]?.text }));
    expect(parsed(write(request(...messages)))["messages"]).toMatchObject(contents);
  }
});

it("hashes follow the text that is sent: of tools, then of each message", () => {
  const write = createChatWriter(rules);
  const first = write(request(say("a"), say("b"))).prefix();
  expect(write(request(say("a"), say("b"))).prefix()).toEqual(first); // other objects, the same text
  expect(
    write(request(say("a"), say("c")))
      .prefix()
      .slice(0, 2),
  ).toEqual(first.slice(0, 2));
  expect(write(request(say("a"), say("c"))).prefix()[2]).not.toBe(first[2]);
  const others = { ...request(say("a"), say("b")), tools: [] };
  expect(write(others).prefix()[0]).not.toBe(first[0]);
  expect(write(others).prefix().slice(1)).toEqual(first.slice(1));
});

it("overrides replace any member but the messages and the stream", () => {
  const requestOverrides = { tools: [], temperature: 1, messages: [], stream: false, model: "other" };
  const body = createChatWriter({ ...rules, requestOverrides })(request(say("a")));
  expect(parsed(body)).toMatchObject({ tools: [], temperature: 1, stream: true, model: "other" });
  expect(parsed(body)["messages"]).toHaveLength(1);
});

it("images go as data, and an answer without anything in it keeps two prompts apart", () => {
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

it("no list of tools is sent when there are none", () => {
  const body = createChatWriter(rules)({ messages: [say("a")], tools: [] });
  expect(parsed(body)).not.toHaveProperty("tools");
});

it("a function_call goes back as one to the provider that made it, and as a tool call to any other", () => {
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
