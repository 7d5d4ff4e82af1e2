import { describe, expect, it } from "vitest";
import { createThinkTagReader } from "./think-tags.ts";

/** The whole of what is said and thought, when the text comes in pieces of a size. */
function read(answer: string, size: number) {
  const reader = createThinkTagReader();
  const pieces = answer.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  const parts = [...pieces.map((piece) => reader(piece, false)), reader("", true)];
  return {
    thought: parts.map(({ thought }) => thought).join(""),
    text: parts.map(({ text }) => text).join(""),
  };
}

describe.each([1, 2, 3, 7, 100])("in pieces of %i characters", (size) => {
  it.each([
    ["<think>I see.</think>\n\nHello", { thought: "I see.", text: "Hello" }],
    ["\n<think>\na < b </thin </think>Hello <think>", { thought: "\na < b </thin ", text: "Hello <think>" }],
    ["Hello <think>no</think>", { thought: "", text: "Hello <think>no</think>" }],
    ["<thinking>no</thinking>", { thought: "", text: "<thinking>no</thinking>" }],
    ["<thi", { thought: "", text: "<thi" }],
    ["<think>never closed </thi", { thought: "never closed </thi", text: "" }],
    ["", { thought: "", text: "" }],
    ["  ", { thought: "", text: "  " }],
  ])("%j", (answer, expected) => {
    expect(read(answer, size)).toEqual(expected);
  });
});
