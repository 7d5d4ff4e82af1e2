import { describe, expect, it } from "vitest";
import { AppError } from "../lib/errors.ts";
import { formatTime } from "../lib/format-time.ts";
import { classifyFailure, type FailureContext, type Trouble } from "./classify-failure.ts";
import { FAILURE_KINDS, type FailureKind } from "./provider.ts";

const NOW = Date.UTC(2026, 10, 15, 12);
const context: FailureContext = {
  provider: "acme",
  model: "big-1",
  addressKey: "providers.acme.base_url",
  keyAdvice: undefined,
  reasoningEffort: undefined,
  nowMs: NOW,
  redact: (text) => text.replaceAll("sk-secret", "***"),
};

function http(
  status: number,
  body: unknown,
  headers: { retryAfter?: string; contentType?: string } = {},
): Trouble {
  return {
    type: "http",
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    contentType: headers.contentType ?? "application/json",
    retryAfter: headers.retryAfter,
  };
}
const says = (message: string, more: object = {}) => ({ error: { message, ...more } });

describe("statuses and bodies", () => {
  it.each<[string, FailureKind, Trouble]>([
    ["400", "refused", http(400, says("temperature must be below 2"))],
    [
      "400 of a wrong key (Gemini)",
      "auth",
      http(400, [says("API key not valid. Please pass a valid API key.")]),
    ],
    [
      "400 of a wrong key (xAI)",
      "auth",
      http(400, { code: "x", error: "Incorrect API key provided: sk-secret" }),
    ],
    ["400 of an unknown model (OpenRouter)", "not-found", http(400, says("foo/bar is not a valid model ID"))],
    ["400 of an unknown model (DeepSeek)", "not-found", http(400, says("Model Not Exist"))],
    [
      "400 without credit (Anthropic)",
      "quota",
      http(400, says("Your credit balance is too low to access the API")),
    ],
    ["401", "auth", http(401, says("no"))],
    ["402", "quota", http(402, says("Insufficient Balance"))],
    ["403", "auth", http(403, says("not in your region"))],
    ["404", "not-found", http(404, says("no such model"))],
    ["408", "unavailable", http(408, "")],
    ["409", "unavailable", http(409, "")],
    ["413", "too-long", http(413, says("Request exceeds the maximum size", { type: "request_too_large" }))],
    ["422", "refused", http(422, { detail: "messages: field required" })],
    ["429", "rate-limited", http(429, says("Rate limit reached for requests"))],
    ["429 without a body", "rate-limited", http(429, "")],
    [
      "429 of a plan (OpenAI)",
      "quota",
      http(429, says("You exceeded your current quota", { code: "insufficient_quota" })),
    ],
    ["429 of a plan", "quota", http(429, says("You've reached your weekly usage limit"))],
    ["429 of a plan with a time", "quota", http(429, says("usage limit reached"), { retryAfter: "18000" })],
    ["429 of a day (OpenRouter)", "quota", http(429, says("Rate limit exceeded: free-models-per-day"))],
    [
      "429 of a minute (Gemini)",
      "rate-limited",
      http(429, [says("You exceeded your current quota, please check your plan. Please retry in 22.5s.")]),
    ],
    ["500", "unavailable", http(500, says("internal"))],
    ["503 while a model loads (llama.cpp)", "unavailable", http(503, says("Loading model"))],
    ["529", "unavailable", http(529, says("Overloaded", { type: "overloaded_error" }))],
    ["502 with a page", "unavailable", http(502, "<html><h1>Bad gateway", { contentType: "text/html" })],
    [
      "404 with a page",
      "not-found",
      http(404, "<!DOCTYPE html>", { contentType: "text/html; charset=utf-8" }),
    ],
    ["200 with a page", "malformed", http(200, "<html>", { contentType: "text/html" })],
    ["200 with an error in it", "rate-limited", http(200, says("slow down", { code: 429 }))],
    [
      "what a router passes on (OpenRouter)",
      "too-long",
      http(
        400,
        says("Provider returned error", {
          code: 400,
          metadata: { raw: '{"error":{"message":"prompt is too long"}}' },
        }),
      ),
    ],
    [
      "422 with a list (FastAPI)",
      "refused",
      http(422, { detail: [{ msg: "field required", input: "usage limit" }] }),
    ],
    ["a redirect", "not-found", http(307, "")],
  ])("%s is %s", (_, kind, trouble) => {
    const failure = classifyFailure(trouble, context);
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain("acme");
    expect(failure.hint.length).toBeGreaterThan(10);
    expect(failure.message).not.toContain("sk-secret");
    expect(failure.message).not.toContain("<h1>");
  });

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
  ])("a conversation that is too long is known by the words of %s", (_, status, message) => {
    expect(classifyFailure(http(status, says(message)), context).kind).toBe("too-long");
  });

  it.each<[string, Trouble, number | undefined]>([
    ["seconds", http(429, "", { retryAfter: "30" }), 30_000],
    ["part of a second", http(429, "", { retryAfter: "0.5" }), 500],
    ["a date", http(503, "", { retryAfter: new Date(NOW + 90_000).toUTCString() }), 90_000],
    ["a date that has passed", http(503, "", { retryAfter: new Date(NOW - 90_000).toUTCString() }), 0],
    ["nonsense", http(429, "", { retryAfter: "soon" }), undefined],
    ["nothing", http(429, ""), undefined],
    ["the text", http(429, says("Please try again in 1.5s.")), 1500],
    [
      "a detail of the body (Gemini)",
      http(429, '{"error":{"message":"x","details":[{"retryDelay": "12s"}]}}'),
      12_000,
    ],
  ])("the time to wait comes from %s", (_, trouble, retryAfterMs) => {
    expect(classifyFailure(trouble, context).retryAfterMs).toBe(retryAfterMs);
  });

  it("quotes the provider in one line, without escape sequences and not endlessly", () => {
    const text = `first\n\u001b[31mred\u001b[0m ${"long ".repeat(500)}`;
    const { message } = classifyFailure(http(400, says(text)), context);
    expect(message).toContain("first [31mred");
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(450);
  });
});

describe("errors inside a stream", () => {
  it.each<[string, FailureKind, unknown]>([
    ["overloaded (Anthropic)", "unavailable", { type: "overloaded_error", message: "Overloaded" }],
    ["broken (Anthropic)", "unavailable", { type: "api_error", message: "Internal server error" }],
    ["rate limit", "rate-limited", { type: "rate_limit_error", message: "slow down" }],
    ["a status as a number (OpenRouter)", "unavailable", { code: 502, message: "Provider returned error" }],
    ["too long", "too-long", { type: "invalid_request_error", message: "prompt is too long: 9 > 8" }],
    ["no money", "quota", { type: "billing_error", message: "pay" }],
    ["words only", "unavailable", { message: "something broke" }],
  ])("%s", (_, kind, payload) => {
    expect(classifyFailure({ type: "error-event", payload }, context).kind).toBe(kind);
  });
});

describe("what was thrown", () => {
  const code = (name: string, message = name) => Object.assign(new Error(message), { code: name });
  const fetchFailed = (name: string) => new TypeError("fetch failed", { cause: code(name) });
  it.each<[string, FailureKind, unknown, boolean]>([
    ["refused", "unreachable", fetchFailed("ECONNREFUSED"), false],
    ["no such host", "unreachable", fetchFailed("ENOTFOUND"), false],
    ["reset before the answer", "unreachable", fetchFailed("ECONNRESET"), false],
    ["certificate", "unreachable", fetchFailed("DEPTH_ZERO_SELF_SIGNED_CERT"), false],
    [
      "our own HTTP client",
      "unreachable",
      new AppError("http-failed", "Cannot reach x.", { cause: code("EPIPE") }),
      false,
    ],
    ["reset in the answer", "cut", new TypeError("terminated", { cause: code("UND_ERR_SOCKET") }), true],
    ["broken answer", "cut", new TypeError("terminated"), true],
    ["no headers", "stalled", fetchFailed("UND_ERR_HEADERS_TIMEOUT"), false],
    ["no more body", "stalled", new TypeError("terminated", { cause: code("UND_ERR_BODY_TIMEOUT") }), true],
    ["not HTTP", "malformed", Object.assign(new Error("x"), { name: "HTTPParserError" }), false],
    ["not what it is compressed with", "malformed", code("Z_DATA_ERROR"), true],
    [
      "a header with a line break",
      "refused",
      new AppError("http-failed", "A header holds characters"),
      false,
    ],
    ["a bug of ours", "refused", new TypeError("x is not a function"), false],
  ])("%s is %s", (_, kind, error, answering) => {
    expect(classifyFailure({ type: "thrown", error, answering }, context).kind).toBe(kind);
  });

  it("a certificate that is not trusted is no better at the next try", () => {
    const cause = code("DEPTH_ZERO_SELF_SIGNED_CERT");
    const error = new AppError("http-failed", "Cannot reach x.", { hint: "Trust it.", cause });
    const { kind, hint } = classifyFailure({ type: "thrown", error, answering: false }, context);
    expect(FAILURE_KINDS[kind].retriable).toBe(false);
    expect(hint).toBe("Trust it. The address is set by providers.acme.base_url.");
  });

  it("keeps the advice of who knew better", () => {
    const error = new AppError("http-failed", "Cannot reach x.", { hint: "Trust it.", cause: code("X") });
    expect(classifyFailure({ type: "thrown", error, answering: false }, context).hint).toMatch(/^Trust it\./);
  });
});

it("has words for every other way to fail", () => {
  const troubles: Trouble[] = [
    { type: "aborted" },
    { type: "stalled", waitedMs: 180_000, silent: true },
    { type: "cut" },
    { type: "empty" },
  ];
  const kinds = troubles.map((trouble) => classifyFailure(trouble, context).kind);
  expect(kinds).toEqual(["aborted", "stalled", "cut", "empty"]);
  expect(kinds.map((kind) => FAILURE_KINDS[kind].retriable)).toEqual([false, true, true, true]);
});

describe("what to do next", () => {
  const keyAdvice = "Store it.";

  it("a server that wants a key where none was sent is not told to have refused one", () => {
    const trouble = http(401, says("Missing bearer"));
    expect(classifyFailure(trouble, { ...context, keyAdvice })).toMatchObject({
      kind: "auth",
      message: "acme did not accept the request, which had no key (401): Missing bearer",
      hint: "Store it.",
    });
    expect(classifyFailure(trouble, context)).toMatchObject({
      message: "acme did not accept the key (401): Missing bearer",
      hint: expect.stringContaining("is it complete"),
    });
    const other = classifyFailure(http(404, says("no")), { ...context, keyAdvice });
    expect(other.hint).not.toContain("Store it.");
  });

  it.each([
    ["86400", "in 1 day"],
    [new Date(NOW + 7_200_000).toUTCString(), "in 2 hours"],
    ["300", "in 5 minutes"],
  ])("Retry-After: %s is told as a time (%s)", (retryAfter, span) => {
    for (const status of [429, 503]) {
      const { hint, retryAfterMs = 0 } = classifyFailure(http(status, "", { retryAfter }), context);
      expect(hint).toContain(`at ${formatTime(NOW + retryAfterMs)} (${span})`);
    }
    expect(classifyFailure(http(429, "", { retryAfter: "5" }), context).hint).toContain("Wait a little");
  });

  it.each([
    "This model does not support the effort parameter.",
    "thinking: Extra inputs are not permitted",
    "Unrecognized request argument supplied: reasoning_effort",
  ])("a refusal that says %j names --reasoning, if that was asked for", (text) => {
    const asked = classifyFailure(http(400, says(text)), { ...context, reasoningEffort: "high" });
    expect(asked.hint).toContain("(high, by --reasoning or agent.reasoning_effort)");
    expect(classifyFailure(http(400, says(text)), context).hint).not.toContain("--reasoning");
  });
});
