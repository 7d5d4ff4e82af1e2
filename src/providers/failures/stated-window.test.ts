import { expect, test } from "vitest";
import { findStatedWindow } from "./stated-window.ts";

test.each([
  [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    8192,
  ],
  ["prompt is too long: 210000 tokens > 200,000 maximum", 200_000],
  ["request (5210 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096],
  ["the request exceeds the available context size: 5210 > n_ctx=4096", 4096],
  ["The maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072],
  ["Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768],
  ["model loaded with a context length of only 4096 tokens", 4096],
  ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576],
  ["`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", 4_096],
])("M1: a window that a server states is read: %s", (text, tokens) => {
  expect(findStatedWindow(text)).toBe(tokens);
});

test.each([
  "prompt is too long",
  "Your input of 250000 tokens exceeds the context window of this model. Reduce the length of the messages.",
  "context_length_exceeded",
  "The maximum context length is 12 tokens",
  `maximum context length is ${"9".repeat(40)} tokens`,
])("M1: no window is guessed from: %s", (text) => {
  expect(findStatedWindow(text)).toBeUndefined();
});
