import { describe, expect, it } from "vitest";
import { FAILURE_ROWS, http, says } from "../../../test/support/failure-rows.ts";
import { AppError } from "../../lib/errors.ts";
import { formatTime } from "../../lib/time/format-time.ts";
import { FAILURE_KINDS } from "../provider.ts";
import { classifyFailure, type FailureContext, type RequestTrouble } from "./classify-failure.ts";

const NOW = Date.UTC(2026, 10, 15, 12);
const context: FailureContext = {
  provider: "acme",
  model: "big-1",
  addressKey: "providers.acme.base_url",
  keyHint: undefined,
  reasoningEffort: undefined,
  nowMs: NOW,
  redact: (text) => text.replaceAll("sk-secret", "***"),
};

it.each(FAILURE_ROWS)("%s is %s", (_, kind, trouble) => {
  const failure = classifyFailure(trouble, context);
  expect(failure.kind).toBe(kind);
  expect(failure.message).toContain(kind === "aborted" ? "stopped" : "acme");
  expect(failure.hint.length).toBeGreaterThan(10);
  expect(failure.message).not.toMatch(/sk-secret|<h1>/);
});

it("every kind of failure is recognised", () => {
  expect(new Set(FAILURE_ROWS.map(([, kind]) => kind))).toEqual(new Set(Object.keys(FAILURE_KINDS)));
});

describe("statuses and bodies", () => {
  it.each([
    [
      "OpenAI",
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000",
    ],
    ["OpenAI, newer", 400, "Your input exceeds the context window of this model."],
    ["Anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum"],
    [
      "Anthropic, with output",
      400,
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ],
    [
      "Gemini",
      400,
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ],
    ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."],
    ["Groq", 400, "Please reduce the length of the messages or completion."],
    ["llama.cpp", 400, "the request exceeds the available context size. try increasing the context size"],
    [
      "LM Studio",
      400,
      "The number of tokens to keep from the initial prompt is greater than the context length.",
    ],
    ["Ollama", 400, "the input length exceeds the context length"],
    ["MiniMax", 400, "invalid params, context window exceeds limit (2013)"],
    ["Kimi", 400, "Your request exceeded model token limit: 262144"],
    ["Bedrock", 422, "Input is too long for requested model."],
    ["a gateway", 500, "litellm: context_length_exceeded"],
  ])("a conversation that is too long is recognised by the error text of %s", (_, status, message) => {
    expect(classifyFailure(http(status, says(message)), context).kind).toBe("too-long");
  });

  it.each<[string, RequestTrouble, number | undefined]>([
    ["seconds", http(429, "", { retryAfter: "30" }), 30_000],
    ["a fraction of a second", http(429, "", { retryAfter: "0.5" }), 500],
    ["a date", http(503, "", { retryAfter: new Date(NOW + 90_000).toUTCString() }), 90_000],
    ["a date that has passed", http(503, "", { retryAfter: new Date(NOW - 90_000).toUTCString() }), 0],
    ["a huge number (a year)", http(429, "", { retryAfter: "99999999999999999" }), 31_536_000_000],
    ["an invalid header (no wait)", http(429, "", { retryAfter: "soon" }), undefined],
    ["an empty response (no wait)", http(429, ""), undefined],
    ["the text", http(429, says("Please try again in 1.5s.")), 1500],
    [
      "a detail of the body (Gemini)",
      http(429, '{"error":{"message":"x","details":[{"retryDelay": "12s"}]}}'),
      12_000,
    ],
  ])("the wait is read from %s", (_, trouble, retryAfterMs) => {
    expect(classifyFailure(trouble, context).retryAfterMs).toBe(retryAfterMs);
  });

  it("quotes the provider in one short line without escape sequences", () => {
    const text = `first\n\u001b[31mred\u001b[0m ${"long ".repeat(500)}`;
    const { message } = classifyFailure(http(400, says(text)), context);
    expect(message).toContain("first [31mred");
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(450);
  });
});

describe("thrown errors", () => {
  const code = (name: string) => Object.assign(new Error(name), { code: name });

  it("an untrusted certificate is not retried", () => {
    const cause = code("DEPTH_ZERO_SELF_SIGNED_CERT");
    const error = new AppError("http-failed", "Cannot reach x.", { hint: "Trust it.", cause });
    const { kind, hint } = classifyFailure({ type: "thrown", error, answering: false }, context);
    expect(FAILURE_KINDS[kind].retriable).toBe(false);
    expect(hint).toBe("Trust it. The address is set by providers.acme.base_url.");
  });

  it("keeps the hint of an AppError", () => {
    const error = new AppError("http-failed", "Cannot reach x.", { hint: "Trust it.", cause: code("X") });
    expect(classifyFailure({ type: "thrown", error, answering: false }, context).hint).toMatch(/^Trust it\./);
  });
});

describe("hints", () => {
  const keyHint = "Store it.";

  it("if no key was sent, the message does not say that a key was refused", () => {
    const trouble = http(401, says("Missing bearer"));
    expect(classifyFailure(trouble, { ...context, keyHint })).toMatchObject({
      kind: "auth",
      message: "acme did not accept the request, which had no key (401): Missing bearer",
      hint: "Store it.",
    });
    expect(classifyFailure(trouble, context)).toMatchObject({
      message: "acme did not accept the key (401): Missing bearer",
      hint: expect.stringContaining("is it complete"),
    });
    const other = classifyFailure(http(404, says("no")), { ...context, keyHint });
    expect(other.hint).not.toContain("Store it.");
  });

  it.each([
    ["86400", "in 1 day"],
    [new Date(NOW + 7_200_000).toUTCString(), "in 2 hours"],
    ["300", "in 5 minutes"],
  ])("Retry-After: %s is reported as a time (%s)", (retryAfter, span) => {
    for (const status of [429, 503]) {
      const { hint, retryAfterMs = 0 } = classifyFailure(http(status, "", { retryAfter }), context);
      expect(hint).toContain(`at ${formatTime(NOW + retryAfterMs)} (${span})`);
    }
    expect(classifyFailure(http(429, "", { retryAfter: "5" }), context).hint).toContain("Wait a little");
  });

  it("a refusal without a reason does not refer to a message, and one about a field of the request names the field", () => {
    const bare = classifyFailure(http(400, '{"error":null}'), context);
    expect(bare).toMatchObject({ kind: "refused", hint: expect.stringContaining("gave no reason") });
    const detail = [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }];
    expect(classifyFailure(http(422, JSON.stringify({ detail })), context).message).toContain(
      "body.stream_options: Extra inputs are not permitted",
    );
  });

  it.each([
    "This model does not support the effort parameter.",
    "thinking: Extra inputs are not permitted",
    "Unrecognized request argument supplied: reasoning_effort",
  ])("the hint for the refusal %j names --reasoning if an effort was requested", (text) => {
    const asked = classifyFailure(http(400, says(text)), { ...context, reasoningEffort: "high" });
    expect(asked.hint).toContain("(high, by --reasoning or agent.reasoning_effort)");
    expect(classifyFailure(http(400, says(text)), context).hint).not.toContain("--reasoning");
  });
});

it("the hint for a huge wait contains a valid time", () => {
  const { hint } = classifyFailure(http(429, "", { retryAfter: "99999999999999999" }), context);
  expect(hint).not.toMatch(/NaN|Invalid/);
});
