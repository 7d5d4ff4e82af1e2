import { describe, expect, it } from "vitest";
import type { AnswerPart } from "../wire/answer-part.ts";
import { collectAnswer } from "../wire/collect-answer.ts";
import { createChatReader } from "./chat-answer.ts";

const delta = (fields: object, reason: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
const call = (fields: object) => delta({ tool_calls: [fields] });

/** The message that a stream of these events makes. */
function read(...stream: readonly string[]) {
  const reader = createChatReader("old");
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

it("a call without a name is one of a tool that does not exist; a piece of nothing is no call", () => {
  const unnamed = call({ index: 0, id: "a", function: { name: "", arguments: "{}" } });
  expect(read(unnamed, delta({}, "tool_calls")).message?.parts).toMatchObject([{ callId: "a", tool: "" }]);
  expect(() => read(call({ index: 0, function: { arguments: "{}" } }))).toThrow();
});

it("a function_call is one call, in pieces, whole, and beside the same call in the newer form", () => {
  const vendor = { functionCall: { provider: "old" } };
  const whole = { type: "tool-call", callId: "call_0", tool: "one", input: '{"x":1}' };
  const pieces = [
    delta({ role: "assistant", content: null, function_call: { name: "one", arguments: "" } }),
    delta({ function_call: { arguments: '{"x"' } }),
    delta({ function_call: { arguments: ":1}" } }),
    delta({}, "function_call"),
  ];
  expect(read(...pieces).message?.parts).toEqual([{ ...whole, vendor }]);
  const older = { name: "one", arguments: '{"x":1}' };
  expect(read(delta({ function_call: older, tool_calls: [] }, "stop")).message?.parts).toEqual([
    { ...whole, vendor },
  ]);
  const both = delta({ function_call: older, tool_calls: [{ index: 0, id: "a", function: older }] });
  expect(read(both, delta({}, "tool_calls")).message?.parts).toEqual([{ ...whole, callId: "a" }]);
  expect(
    read(call({ id: "a", function: older }), delta({ function_call: null }, "stop")).message?.parts,
  ).toEqual([{ ...whole, callId: "a" }]);
});

describe("what servers make of the format", () => {
  const whole = [
    { callId: "a", tool: "one", input: '{"x":1}' },
    { callId: "b", tool: "two", input: "{}" },
  ];

  it.each([
    [
      "calls in pieces, by their index",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: "" } }),
        call({ index: 1, id: "b", function: { name: "two" } }),
        call({ index: 0, function: { arguments: '{"x"' } }),
        call({ index: 1, function: { arguments: "{}" } }),
        call({ index: 0, function: { arguments: ":1}" } }),
      ],
    ],
    [
      "the id and an empty name in every piece",
      [
        call({ index: 0, id: "a", function: { name: "one", arguments: '{"x"' } }),
        call({ index: 0, id: "a", function: { name: "", arguments: ":1}" } }),
        call({ index: 1, id: "b", function: { name: "two", arguments: "{}" } }),
      ],
    ],
    [
      "a name in pieces, a name that comes after the id, and names that are repeated",
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
      "whole calls without an index",
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
      "whole calls that all have the index 0",
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
  ])("%s are the same two calls", (_, events) => {
    expect(read(...events, delta({}, "tool_calls")).message?.parts).toMatchObject(whole);
  });

  it("calls without ids get some", () => {
    const events = [0, 1].map((index) => call({ index, function: { name: "one", arguments: "{}" } }));
    const parts = read(...events, delta({}, "tool_calls")).message?.parts ?? [];
    const ids = parts.map((part) => (part.type === "tool-call" ? part.callId : ""));
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain("");
  });

  it("reasoning is read under both of its names, and null is nothing", () => {
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

  it("text in front of a closing think tag is reasoning, and an end without a word loses nothing", () => {
    const end = JSON.stringify({ choices: [{ finish_reason: "stop" }] });
    const thinking = delta({ content: "I think." });
    const { message, events } = read(thinking, delta({ content: "</think>a <" }), end);
    expect(message?.parts).toEqual([
      { type: "reasoning", text: "I think." },
      { type: "text", text: "a <" },
    ]);
    // What was shown as it came cannot be taken back; the tag says what it was.
    const shown = events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
    expect(shown).toBe("I think.\n</think>\n\na <");
  });

  it("ids with half a character are made whole and stay apart", () => {
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

  it("usage counts wherever it comes, and what is not said is not known", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } };
    const { finish } = read(delta({ content: "x" }, "stop"), JSON.stringify({ choices: [], usage }));
    expect(finish?.usage).toEqual({
      inputTokens: { total: 9, cacheRead: 3, cacheWrite: undefined },
      outputTokens: { total: 4, reasoning: undefined },
    });
    expect(read(delta({ content: "x" }, "stop")).finish?.usage.inputTokens.total).toBeUndefined();
  });

  it("events that say nothing are no harm", () => {
    const { parts } = read("{}", '{"choices":null}', '{"choices":[]}', '{"choices":[{"delta":null}]}');
    expect(parts).toEqual([]);
  });

  it("an answer that never says why it ended was cut off", () => {
    expect(read(delta({ content: "x" })).finish).toBeUndefined();
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "5"],
    ["choices that are no list", '{"choices":5}'],
    ["a choice that is none", '{"choices":["x"]}'],
    ["a call that is none", delta({ tool_calls: ["x"] })],
    ["a piece of a call that never began", call({ index: 0, function: { arguments: "{}" } })],
  ])("%s is malformed", (_, event) => {
    expect(() => read(event)).toThrow(expect.objectContaining({ trouble: { type: "malformed" } }));
  });

  it("an error is one, with everything that was said", () => {
    const event = { error: { message: "Overloaded", code: 529 } };
    expect(() => read(JSON.stringify(event))).toThrow(
      expect.objectContaining({ trouble: { type: "error-event", payload: event } }),
    );
  });
});
