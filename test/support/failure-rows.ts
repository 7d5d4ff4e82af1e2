import { AppError } from "../../src/lib/errors.ts";
import type { RequestTrouble } from "../../src/providers/failures/classify-failure.ts";
import type { FailureKind } from "../../src/providers/provider.ts";

/** A sign of trouble, the kind of failure that it means, and the trouble as a request observes it. */
export type FailureRow = readonly [sign: string, kind: FailureKind, trouble: RequestTrouble];

/** A complete response that is not an answer. */
export function http(
  status: number,
  body: unknown,
  headers: { retryAfter?: string; contentType?: string } = {},
): RequestTrouble {
  return {
    type: "http",
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    contentType: headers.contentType ?? "application/json",
    retryAfter: headers.retryAfter,
  };
}

export const says = (message: string, more: object = {}) => ({ error: { message, ...more } });

const HTTP_ROWS: readonly FailureRow[] = [
  ["400", "refused", http(400, says("temperature must be below 2"))],
  [
    "400 for a wrong key (Gemini)",
    "auth",
    http(400, [says("API key not valid. Please pass a valid API key.")]),
  ],
  [
    "400 for a wrong key (xAI)",
    "auth",
    http(400, { code: "x", error: "Incorrect API key provided: sk-secret" }),
  ],
  ["400 for an unknown model (OpenRouter)", "not-found", http(400, says("foo/bar is not a valid model ID"))],
  ["400 for an unknown model (DeepSeek)", "not-found", http(400, says("Model Not Exist"))],
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
    "429 for a used-up plan (OpenAI)",
    "quota",
    http(429, says("You exceeded your current quota", { code: "insufficient_quota" })),
  ],
  ["429 for a used-up plan", "quota", http(429, says("You've reached your weekly usage limit"))],
  [
    "429 for a used-up plan with a wait",
    "quota",
    http(429, says("usage limit reached"), { retryAfter: "18000" }),
  ],
  [
    "429 for a daily limit (OpenRouter)",
    "quota",
    http(429, says("Rate limit exceeded: free-models-per-day")),
  ],
  [
    "429 for a limit per minute (Gemini)",
    "rate-limited",
    http(429, [says("You exceeded your current quota, please check your plan. Please retry in 22.5s.")]),
  ],
  ["500", "unavailable", http(500, says("internal"))],
  ["503 while a model loads (llama.cpp)", "unavailable", http(503, says("Loading model"))],
  ["529", "unavailable", http(529, says("Overloaded", { type: "overloaded_error" }))],
  ["502 with an HTML page", "unavailable", http(502, "<html><h1>Bad gateway", { contentType: "text/html" })],
  [
    "404 with an HTML page",
    "not-found",
    http(404, "<!DOCTYPE html>", { contentType: "text/html; charset=utf-8" }),
  ],
  ["200 with an HTML page", "malformed", http(200, "<html>", { contentType: "text/html" })],
  ["200 with an error body", "rate-limited", http(200, says("slow down", { code: 429 }))],
  [
    "an upstream error that a router passes on (OpenRouter)",
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
];

const STREAM_ROWS: readonly (readonly [string, FailureKind, unknown])[] = [
  ["overloaded (Anthropic)", "unavailable", { type: "overloaded_error", message: "Overloaded" }],
  ["broken (Anthropic)", "unavailable", { type: "api_error", message: "Internal server error" }],
  ["rate limit", "rate-limited", { type: "rate_limit_error", message: "slow down" }],
  ["a status as a number (OpenRouter)", "unavailable", { code: 502, message: "Provider returned error" }],
  ["too long", "too-long", { type: "invalid_request_error", message: "prompt is too long: 9 > 8" }],
  ["no credit", "quota", { type: "billing_error", message: "pay" }],
  ["only a message", "unavailable", { message: "something broke" }],
];

const code = (name: string, message = name) => Object.assign(new Error(message), { code: name });
const fetchFailed = (name: string) => new TypeError("fetch failed", { cause: code(name) });

const THROWN_ROWS: readonly (readonly [string, FailureKind, unknown, boolean])[] = [
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
  ["reset during the answer", "cut", new TypeError("terminated", { cause: code("UND_ERR_SOCKET") }), true],
  ["broken answer", "cut", new TypeError("terminated"), true],
  ["a timeout before the headers", "stalled", fetchFailed("UND_ERR_HEADERS_TIMEOUT"), false],
  [
    "a timeout in the body",
    "stalled",
    new TypeError("terminated", { cause: code("UND_ERR_BODY_TIMEOUT") }),
    true,
  ],
  ["not HTTP", "malformed", Object.assign(new Error("x"), { name: "HTTPParserError" }), false],
  ["wrong content encoding", "malformed", code("Z_DATA_ERROR"), true],
  ["a header with a line break", "refused", new AppError("http-failed", "A header holds characters"), false],
  ["a bug in Hermes", "refused", new TypeError("x is not a function"), false],
];

const OTHER_ROWS: readonly FailureRow[] = [
  ["the user's stop", "aborted", { type: "aborted" }],
  ["silence", "stalled", { type: "stalled", waitedMs: 180_000, silent: true }],
  ["an answer that never ends", "stalled", { type: "stalled", waitedMs: 900_000, silent: false }],
  ["the end of the answer before its finish reason", "cut", { type: "cut" }],
  ["an answer without content", "empty", { type: "empty" }],
  ["an answer that is paused too often", "refused", { type: "paused", times: 20 }],
  ["an event that is invalid in its format", "malformed", { type: "malformed" }],
  ["a compression that Node cannot decode", "refused", { type: "undecodable", encoding: "zstd" }],
];

/** Every sign of trouble and the kind of failure that it means; docs/reference/model-failures.md shows them. */
export const FAILURE_ROWS: readonly FailureRow[] = [
  ...HTTP_ROWS,
  ...STREAM_ROWS.map(
    ([sign, kind, payload]): FailureRow => [`in the stream: ${sign}`, kind, { type: "error-event", payload }],
  ),
  ...THROWN_ROWS.map(
    ([sign, kind, error, answering]): FailureRow => [
      `connection: ${sign}`,
      kind,
      { type: "thrown", error, answering },
    ],
  ),
  ...OTHER_ROWS,
];
