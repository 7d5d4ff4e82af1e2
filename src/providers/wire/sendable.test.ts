import { expect, it } from "vitest";
import { sendableJson, sendableName } from "./sendable.ts";

it.each([
  [JSON.stringify("A\ud83d"), "A\ufffd"],
  [JSON.stringify("\ude00\ud83dB"), "\ufffd\ufffdB"],
  ['"\\uD83D\\uDE00 \\ud83d\\ud83d\\ude00"', "😀 \ufffd😀"],
  [JSON.stringify("😀 \\ud83d \\\\"), "😀 \\ud83d \\\\"], // an escaped backslash
])("a lone surrogate becomes U+FFFD, and nothing else changes: %s", (json, value) => {
  expect(JSON.parse(sendableJson(json))).toBe(value);
});

it("a sent tool name has only letters, digits, - and _, and is neither empty nor too long", () => {
  expect(["read_file", "mcp-x.y", "", "é".repeat(70)].map(sendableName)).toEqual([
    "read_file",
    "mcp-x_y",
    "unnamed",
    "_".repeat(64),
  ]);
});
