import { expect, it } from "vitest";
import { sendableJson, sendableName } from "./sendable.ts";

it.each([
  [JSON.stringify("A\ud83d"), "A\ufffd"],
  [JSON.stringify("\ude00\ud83dB"), "\ufffd\ufffdB"],
  ['"\\uD83D\\uDE00 \\ud83d\\ud83d\\ude00"', "😀 \ufffd😀"],
  [JSON.stringify("😀 \\ud83d \\\\"), "😀 \\ud83d \\\\"], // a backslash that somebody wrote
])("half a surrogate pair becomes U+FFFD, and nothing else changes: %s", (json, value) => {
  expect(JSON.parse(sendableJson(json))).toBe(value);
});

it("a tool's name has letters, digits, - and _, is not empty and not too long", () => {
  expect(["read_file", "mcp-x.y", "", "é".repeat(70)].map(sendableName)).toEqual([
    "read_file",
    "mcp-x_y",
    "unnamed",
    "_".repeat(64),
  ]);
});
