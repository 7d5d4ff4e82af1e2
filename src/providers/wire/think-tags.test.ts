import { describe, expect, it } from "vitest";
import { createThinkTagReader } from "./think-tags.ts";

/** The complete text and reasoning of an answer that arrives in pieces of `size` characters. */
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
    [
      "<think>a</think>Hello, this ends with </think> you",
      { thought: "a", text: "Hello, this ends with </think> you" },
    ],
    ["Hello <think>no</think>", { thought: "", text: "Hello <think>no</think>" }],
    ["<thinking>no</thinking>", { thought: "", text: "<thinking>no</thinking>" }],
    ["<thi", { thought: "", text: "<thi" }],
    ["<think>never closed </thi", { thought: "never closed </thi", text: "" }],
    ["I see.\n</think>\n\nHello", { thought: "I see.\n", text: "Hello" }],
    ["</think>\n\nHello", { thought: "", text: "Hello" }],
    ["say 'no'</think>\n\nHello </think> you", { thought: "say 'no'", text: "Hello </think> you" }],
    ["a </think> b\n</think>Hello", { thought: "a </think> b\n", text: "Hello" }],
    ["The closing tag is </think> and so on", { thought: "", text: "The closing tag is </think> and so on" }],
    ["End it with </think>\nand go on", { thought: "", text: "End it with </think>\nand go on" }],
    ["It is </think>\n", { thought: "", text: "It is </think>\n" }],
    ["```\n</think>\n```\nafter", { thought: "", text: "```\n</think>\n```\nafter" }],
    ['{"t":"use </think> here"}', { thought: "", text: '{"t":"use </think> here"}' }],
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

  it("a lone closing tag is text if the server sends the reasoning separately", () => {
    expect(read("I see.</think>Hello", size, true)).toEqual({ thought: "", text: "I see.</think>Hello" });
  });
});
