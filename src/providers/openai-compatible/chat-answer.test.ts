import { describe, expect, it } from "vitest";
import type { AnswerPart } from "../wire/answer-part.ts";
import { collectAnswer } from "../wire/collect-answer.ts";
import { withThinkTags } from "../wire/think-tags.ts";
import { createChatReader } from "./chat-answer.ts";

const delta = (fields: object, reason: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
const call = (fields: object) => delta({ tool_calls: [fields] });

/** The message that results from a stream of these events. */
function read(...stream: readonly string[]) {
  const reader = withThinkTags(createChatReader({ provider: "old", name: "m" }));
  const answer = collectAnswer([]);
  const parts = stream.flatMap((event) => [...reader.take(event, undefined)]);
  const finish = reader.finish();
  const events = (parts as AnswerPart[]).flatMap((part) => answer.take(part) ?? []);
  return {
    parts,
    finish,
    events,
    message: finish === undefined ? undefined : answer.finish(finish)?.message,
  };
}

it("a call without a name calls a tool that does not exist; an empty piece is not a call", () => {
  const unnamed = call({ index: 0, id: "a", function: { name: "", arguments: "{}" } });
  expect(read(unnamed, delta({}, "tool_calls")).message?.parts).toMatchObject([{ callId: "a", tool: "" }]);
  expect(() => read(call({ index: 0, function: { arguments: "{}" } }))).toThrow();
});

it("a function_call becomes one call, whether it comes in pieces, complete, or together with the same call in the newer form", () => {
  const vendor = { functionCall: { provider: "old" } };
  const complete = { type: "tool-call", callId: "call_0", tool: "one", input: '{"x":1}' };
  const pieces = [
    delta({ role: "assistant", content: null, function_call: { name: "one", arguments: "" } }),
    delta({ function_call: { arguments: '{"x"' } }),
    delta({ function_call: { arguments: ":1}" } }),
    delta({}, "function_call"),
  ];
  expect(read(...pieces).message?.parts).toEqual([{ ...complete, vendor }]);
  const older = { name: "one", arguments: '{"x":1}' };
  expect(read(delta({ function_call: older, tool_calls: [] }, "stop")).message?.parts).toEqual([
    { ...complete, vendor },
  ]);
  const both = delta({ function_call: older, tool_calls: [{ index: 0, id: "a", function: older }] });
  expect(read(both, delta({}, "tool_calls")).message?.parts).toEqual([{ ...complete, callId: "a" }]);
  expect(
    read(call({ id: "a", function: older }), delta({ function_call: null }, "stop")).message?.parts,
  ).toEqual([{ ...complete, callId: "a" }]);
});

describe("server variants of the format", () => {
  const complete = [
    { callId: "a", tool: "one", input: '{"x":1}' },
    { callId: "b", tool: "two", input: "{}" },
  ];

  it.each([
    [
      "calls in pieces with an index",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: "" } }),
        call({ index: 1, id: "b", function: { name: "two" } }),
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 1, function: { arguments: "{}" } }),
        call({ index: 0, function: { arguments: ":1}" } }),
      ],
    ],
    [
      "pieces that all have the id and an empty name",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: '{"x"' } }),
        call({ index: 0, id: "a", function: { name: "", arguments: ":1}" } }),
        call({ index: 1, id: "b", function: { name: "two", arguments: "{}" } }),
      ],
    ],
    [
      "a name in pieces, a name after the id, and repeated names",
      [
        call({ index: 0, id: "a", function: { name: "o", arguments: "" } }),
        call({ index: 0, function: { name: "ne", arguments: '{"x"' } }),
        call({ index: 0, function: { name: "one", arguments: ":1}" } }),
        call({ index: 1, id: "b", function: { arguments: "" } }),
        call({ index: 1, id: "b", function: { name: "two", arguments: "" } }),
        call({ index: 1, id: "b", function: { name: "two", arguments: "{}" } }),
      ],
    ],
    [
      "complete calls without an index",
      [
        delta({
          tool_calls: [
            { id: "a", function: { name: "one", arguments: '{"x":1}' } },
            { id: "b", function: { name: "two", arguments: "{}" } },
          ],
        }),
      ],
    ],
    [
      "complete calls that all have the index 0",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: '{"x":1}' } }),
        call({ index: 0, id: "b", function: { name: "two", arguments: "{}" } }),
      ],
    ],
    [
      "input as an object",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: { x: 1 } } }),
        call({ index: 1, id: "b", function: { name: "two", arguments: {} } }),
      ],
    ],
  ])("%s give the same two calls", (_, events) => {
    expect(read(...events, delta({}, "tool_calls")).message?.parts).toMatchObject(complete);
  });

  it("calls without ids get generated ones", () => {
    const events = [0, 1].map((index) => call({ index, function: { name: "one", arguments: "{}" } }));
    const parts = read(...events, delta({}, "tool_calls")).message?.parts ?? [];
    const ids = parts.map((part) => (part.type === "tool-call" ? part.callId : ""));
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("");
  });

  it("reasoning is read under both of its names, and null is ignored", () => {
    const { message } = read(
      delta({ reasoning_content: "I ", content: null }),
      delta({ reasoning: "think.", content: "" }),
      delta({ content: "Hi." }, "stop"),
    );
    expect(message?.parts).toMatchObject([
      { type: "reasoning", text: "I think." },
      { type: "text", text: "Hi." },
    ]);
  });

  it("text before a closing think tag is reasoning, and a last event without text does not lose text that was held back", () => {
    const end = JSON.stringify({ choices: [{ finish_reason: "stop" }] });
    const thinking = delta({ content: "I think." });
    const { message, events } = read(thinking, delta({ content: "\n</think>a <" }), end);
    expect(message?.parts).toEqual([
      { type: "reasoning", text: "I think.\n" },
      { type: "text", text: "a <" },
    ]);
    // Text that was already shown cannot be withdrawn; the tag marks it as reasoning.
    const shown = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
    expect(shown).toBe("I think.\n</think>\n\na <");
  });

  it("ids with a lone surrogate are repaired and stay distinct", () => {
    const events = ["a\ud800", "a\udc00"].map((id, index) =>
      call({ index, id, function: { name: "one", arguments: "{}" } }),
    );
    const parts = read(...events, delta({}, "tool_calls")).message?.parts ?? [];
    expect(parts).toMatchObject([{ callId: "a\ufffd" }, { callId: "a\ufffd_2" }]);
  });

  it("a call's signature is kept for the next request", () => {
    const signed = call({
      index: 0,
      id: "a",
      function: { name: "one", arguments: "{}" },
      extra_content: { google: { thought_signature: "sig" } },
    });
    expect(read(signed, delta({}, "stop")).message?.parts).toMatchObject([
      { vendor: { google: { thoughtSignature: "sig" } } },
    ]);
  });

  it("usage is read from any event, and missing counts are undefined", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } };
    const { finish } = read(delta({ content: "x" }, "stop"), JSON.stringify({ choices: [], usage }));
    expect(finish?.usage).toEqual({
      inputTokens: 9,
      cacheReadTokens: 3,
      cacheWriteTokens: undefined,
      outputTokens: 4,
      reasoningTokens: undefined,
    });
    expect(read(delta({ content: "x" }, "stop")).finish?.usage.inputTokens).toBeUndefined();
  });

  it("empty events are ignored", () => {
    const { parts } = read("{}", '{"choices":null}', '{"choices":[]}', '{"choices":[{"delta":null}]}');
    expect(parts).toEqual([]);
  });

  it("an answer without a finish reason is not finished", () => {
    expect(read(delta({ content: "x" })).finish).toBeUndefined();
  });

  it.each([
    ["invalid JSON", "{"],
    ["a number", "5"],
    ["an event whose choices are not a list", '{"choices":5}'],
    ["a choice that is a string", '{"choices":["x"]}'],
    ["a call that is a string", delta({ tool_calls: ["x"] })],
    ["a piece of a call that never started", call({ index: 0, function: { arguments: "{}" } })],
  ])("%s is malformed", (_, event) => {
    expect(() => read(event)).toThrow(expect.objectContaining({ trouble: { type: "malformed" } }));
  });

  it("an error event is thrown with its complete payload", () => {
    const event = { error: { message: "Overloaded", code: 529 } };
    expect(() => read(JSON.stringify(event))).toThrow(
      expect.objectContaining({ trouble: { type: "error-event", payload: event } }),
    );
  });
});

it.each([
  ["a fraction", 1.5],
  ["a negative number", -1],
  ["a huge number", 1e300],
  ["a text", "12"],
])("a token count that is %s is not reported", (_, prompt_tokens) => {
  const usage = {
    prompt_tokens,
    completion_tokens: 7,
    prompt_tokens_details: { cached_tokens: prompt_tokens },
    completion_tokens_details: { reasoning_tokens: prompt_tokens },
  };
  const event = JSON.stringify({ choices: [], usage });
  expect(read(delta({ content: "hi" }, "stop"), event).finish?.usage).toEqual({
    inputTokens: undefined,
    cacheReadTokens: undefined,
    cacheWriteTokens: undefined,
    outputTokens: 7,
    reasoningTokens: undefined,
  });
});

it("complete calls that share an index or an arguments text are separate calls", () => {
  const one = { name: "one", arguments: '{"x":1}' };
  const two = { name: "two", arguments: "{}" };
  const wanted = [
    { tool: "one", input: '{"x":1}' },
    { tool: "two", input: "{}" },
  ];
  const end = delta({}, "tool_calls");
  const apart = [call({ index: 0, function: one }), call({ index: 0, function: two })];
  expect(read(...apart, end).message?.parts).toMatchObject(wanted);
  const together = delta({
    tool_calls: [
      { index: 0, function: one },
      { index: 0, function: two },
    ],
  });
  expect(read(together, end).message?.parts).toMatchObject(wanted);
  const joined = call({
    index: 0,
    id: "a",
    function: { name: "one", arguments: '{"x":"}{"} {"x":2}\n{"y":{"z":3}}' },
  });
  const { message } = read(joined, end);
  expect(message?.parts).toMatchObject([
    { tool: "one", callId: "a", input: '{"x":"}{"}' },
    { tool: "one", input: '{"x":2}' },
    { tool: "one", input: '{"y":{"z":3}}' },
  ]);
  expect(new Set(message?.parts.map((part) => part.type === "tool-call" && part.callId)).size).toBe(3);
});

it("other choices are not merged into the answer", () => {
  const other = (fields: object) =>
    JSON.stringify({ choices: [{ index: 1, delta: fields, finish_reason: "length" }] });
  const both = JSON.stringify({
    choices: [
      { index: 1, delta: { content: "B" } },
      { index: 0, delta: { content: "!" } },
    ],
  });
  const { message, finish } = read(
    delta({ content: "Hi" }),
    other({ content: "Other" }),
    both,
    delta({}, "stop"),
    other({}),
  );
  expect(message?.parts).toMatchObject([{ type: "text", text: "Hi!" }]);
  expect(finish?.reason).toBe("stop");
});

it("A10: the pieces of reasoning details are joined and kept with their source", () => {
  const detail = (fields: object) => delta({ reasoning_details: [fields] });
  const { message } = read(
    delta({
      reasoning: "Hm",
      reasoning_details: [{ type: "reasoning.text", text: "Hm", signature: null, index: 0 }],
    }),
    detail({ type: "reasoning.text", text: ".", index: 0 }),
    detail({ type: "reasoning.text", signature: "c2ln", index: 0 }),
    detail({ type: "reasoning.encrypted", data: "gAAA", id: "rs_1", index: 1 }),
    detail({ type: "reasoning.encrypted", data: "gBBB", id: "rs_2", index: 1 }),
    delta({ content: "Hi." }, "stop"),
  );
  expect(message?.parts).toEqual([
    {
      type: "reasoning",
      text: "Hm",
      vendor: {
        reasoningDetails: {
          provider: "old",
          model: "m",
          details: [
            { type: "reasoning.text", text: "Hm.", signature: "c2ln", index: 0 },
            { type: "reasoning.encrypted", data: "gAAA", id: "rs_1", index: 1 },
            { type: "reasoning.encrypted", data: "gBBB", id: "rs_2", index: 1 },
          ],
        },
      },
    },
    { type: "text", text: "Hi." },
  ]);
});
