import { describe, expect, it } from "vitest";
import { createThinkTagReader } from "./think-tags.ts";

/** The whole of what is said and thought, when the text comes in pieces of a size. */
function read(answer: string, size: number, isSeparate = false) {
  const reader = createThinkTagReader();
  const pieces = answer.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
  let thought = "";
  let text = "";
  for (const piece of [...pieces, undefined]) {
    const part = reader(piece ?? "", piece === undefined, isSeparate);
    if (part.wasThought) {
      thought += text;
      text = "";
    }
    thought += part.thought;
    text += part.text;
  }
  return { thought, text };
}

describe.each([1, 2, 3, 7, 100])("in pieces of %i characters", (size) => {
  it.each([
    ["<think>I see.</think>\n\nHello", { thought: "I see.", text: "Hello" }],
    ["\n<think>\na < b </thin </think>Hello <think>", { thought: "\na < b </thin ", text: "Hello <think>" }],
    ["Hello <think>no</think>", { thought: "", text: "Hello <think>no</think>" }],
    ["<thinking>no</thinking>", { thought: "", text: "<thinking>no</thinking>" }],
    ["<thi", { thought: "", text: "<thi" }],
    ["<think>never closed </thi", { thought: "never closed </thi", text: "" }],
    ["I see.\n</think>\n\nHello", { thought: "I see.\n", text: "Hello" }],
    ["</think>\n\nHello", { thought: "", text: "Hello" }],
    ["say 'no'</think>Hello </think> you", { thought: "say 'no'", text: "Hello </think> you" }],
    [
      "It ends with `</think>`, you see: </thin",
      { thought: "", text: "It ends with `</think>`, you see: </thin" },
    ],
    ["<think>a <think>b</think> c</think>Hello", { thought: "a <think>b</think> c", text: "Hello" }],
    ["<think>a <think> b</think>\nHello", { thought: "a <think> b</think>", text: "Hello" }],
    [
      "<think>not '</think>' nor `<think>`</think>Hi",
      { thought: "not '</think>' nor `<think>`", text: "Hi" },
    ],
    [
      "<think>a<think>b</think>c<think>d</think>e</think>Hello",
      { thought: "a<think>b</think>c<think>d</think>e", text: "Hello" },
    ],
    ["", { thought: "", text: "" }],
    ["  ", { thought: "", text: "  " }],
  ])("%j", (answer, expected) => {
    expect(read(answer, size)).toEqual(expected);
  });

  it("where the reasoning comes in another way a closing tag alone is what the model says", () => {
    expect(read("I see.</think>Hello", size, true)).toEqual({ thought: "", text: "I see.</think>Hello" });
  });
});
