import type { HostileRow, Reply } from "./hostile-row.ts";
import { failed, json, ok, REFUSED, type Row } from "./row-parts.ts";

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\r\n\r\n`;
const parts = (content: readonly object[], more: object = {}): string =>
  event({ candidates: [{ content: { role: "model", parts: content }, index: 0, ...more }] });
const say = (text: string): string => parts([{ text }]);
const ending = (finishReason: string, content: readonly object[] = []): string =>
  parts(content, { finishReason });
const stream = (...body: readonly (string | Uint8Array)[]): Reply => ({ body });
const ends = (reason: string, ...before: readonly string[]): Reply => stream(...before, ending(reason));
const fine = ends("STOP", say("Hi."));
const LS = { functionCall: { name: "terminal", args: { command: "ls" } } };
const fails = (code: number, status: string, message: string, more: object = {}): Reply =>
  json(code, { error: { code, message, status, ...more } });
const refused = (does: string, reply: Reply, prints = ""): Row => ({
  who: "Gemini",
  does,
  replies: [reply],
  outcome: "refused",
  prints,
  reads: REFUSED,
});

const STREAMS: readonly Row[] = [
  ok("Gemini", "sends thoughts, and a signature in a part of its own", {
    body: [
      parts([{ text: "Hm.", thought: true }]),
      say("Hi."),
      ending("STOP", [{ text: "", thoughtSignature: "c2ln" }]),
    ],
  }),
  ok("Gemini", "sends the finish reason with the text", stream(ending("STOP", [{ text: "Hi." }]))),
  ok("Gemini", "sends the usage after the finish reason", {
    body: [say("Hi."), ending("STOP"), event({ usageMetadata: { promptTokenCount: 3 } })],
  }),
  ok(
    "Gemini",
    "sends events without candidates",
    stream(event({ usageMetadata: {} }), say("Hi."), ending("STOP")),
  ),
  ok("Gemini", "ends with a candidate without content", {
    body: [say("Hi."), event({ candidates: [{ finishReason: "STOP", index: 0 }] })],
  }),
  ok("Gemini", "sends an unknown part", {
    body: [parts([{ executableCode: { code: "1" } }]), say("Hi."), ending("STOP")],
  }),
  ok("a new model", "stops with an unknown reason", ends("BECAUSE", say("Hi."))),
  ok("LiteLLM", "sends [DONE] at the end", stream(say("Hi."), ending("STOP"), "data: [DONE]\n\n")),
  ok("every load balancer", "resets the connection after the finish reason", {
    body: [say("Hi."), ending("STOP")],
    ends: "reset",
  }),
  ok("proxies of Gemini", "keeps the connection open after the finish reason", {
    body: [say("Hi."), ending("STOP")],
    ends: "hang",
  }),
  ok(
    "proxies of Gemini",
    "ends its last event without a line break",
    stream(say("Hi."), ending("STOP").trimEnd()),
  ),
  ok("Cloudflare", "compresses with gzip although the client did not ask for it", {
    ...fine,
    encoding: "gzip",
  }),
  ok(
    "proxies of Gemini",
    "sends a complete JSON answer although a stream was requested",
    json(200, { candidates: [{ content: { parts: [{ text: "Hi." }] }, finishReason: "STOP" }] }),
  ),
];

const CALLS: readonly Row[] = [
  ok(
    "Gemini",
    "calls a tool, without an id",
    ends("STOP", parts([{ ...LS, thoughtSignature: "c2ln" }])),
    fine,
  ),
  { ...ok("Gemini", "calls two tools in one event", ends("STOP", parts([LS, LS])), fine), calls: 2 },
  ok(
    "Gemini",
    "sends the same ids again in the next answer",
    ends("STOP", parts([{ functionCall: { ...LS.functionCall, id: "t1" } }])),
    ends("STOP", parts([{ functionCall: { ...LS.functionCall, id: "t1" } }])),
    fine,
  ),
  ok(
    "Gemini",
    "calls a tool without input",
    ends("STOP", parts([{ functionCall: { name: "terminal" } }])),
    fine,
  ),
  ok("aimock", "ends with FUNCTION_CALL", ends("FUNCTION_CALL", parts([LS])), fine),
  ok("Gemini", "writes a call that it cannot read, once", ends("MALFORMED_FUNCTION_CALL"), fine),
  failed(
    "Gemini",
    "writes a call that it cannot read, every time",
    "{provider} ended its answer early.",
    ends("MALFORMED_FUNCTION_CALL"),
    4,
  ),
  ok(
    "every provider",
    "loses the connection after a call, once",
    { body: [parts([LS])], ends: "close" },
    fine,
  ),
];

const ENDS: readonly Row[] = [
  ok(
    "every model with an output limit",
    "is cut off in the middle of its text, once",
    ends("MAX_TOKENS", say("H")),
    ends("STOP", say("i.")),
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of its text, every time",
    replies: [ends("MAX_TOKENS", say("on "))],
    outcome: "cut",
    prints: "on on on on ",
    reads: "The answer was cut off by the model's output limit.",
    requests: 4,
  },
  refused("blocks the prompt", stream(event({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }))),
  refused("blocks its own text", ends("SAFETY", say("Well, ")), "Well, "),
  refused("stops a recitation", ends("RECITATION")),
  ok("Gemini", "gives an empty answer, once", ends("STOP"), fine),
  failed("Gemini", "gives an empty answer, every time", "{provider} gave an empty answer.", ends("STOP"), 4),
];

const BREAKS: readonly Row[] = [
  ok(
    "Gemini",
    "is overloaded in the middle of the stream, once",
    stream(
      say("H"),
      event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
    ),
    fine,
  ),
  ok(
    "every provider",
    "loses the connection in the middle of the text, once",
    { body: [say("H")], ends: "reset" },
    fine,
  ),
  failed(
    "every provider",
    "ends the stream in the middle of the text, every time",
    "{provider} ended its answer early.",
    stream(say("H")),
    4,
  ),
  ok("every load balancer", "resets the connection before the headers, once", { unanswered: "reset" }, fine),
  ok("AWS ALB", "goes silent before the headers, once", { unanswered: "hang" }, fine),
  ok("Gemini", "goes silent in the middle of the text, once", { body: [say("H")], ends: "hang" }, fine),
  failed(
    "every gateway",
    "sends an event that is not JSON",
    "{provider} sent a response that could not be parsed.",
    stream(say("H"), "data: {oops\n\n"),
    4,
  ),
  failed(
    "a captive portal",
    "answers with an HTML page",
    "{provider} answered with an HTML page.",
    { headers: { "content-type": "text/html" }, body: ["<html>Log in</html>"] },
    4,
  ),
];

const STATUSES: readonly Row[] = [
  failed(
    "Gemini",
    "refuses a field",
    '{provider} refused the request (400): Invalid JSON payload received. Unknown name "x"',
    fails(400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name "x"'),
  ),
  failed(
    "Gemini",
    "rejects the key with 400",
    "{provider} did not accept the key (400): API key not valid. Please pass a valid API key.",
    fails(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
  ),
  failed(
    "Gemini",
    "does not know the model",
    "{provider} does not know the model or the address (404): models/m is not found for API version v1beta",
    fails(404, "NOT_FOUND", "models/m is not found for API version v1beta"),
  ),
  ok(
    "Gemini",
    "limits the rate of requests, once",
    fails(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", { details: [{ retryDelay: "1s" }] }),
    fine,
  ),
  failed(
    "Gemini",
    "reports that the quota is used up",
    "{provider} reports that the plan or the credit is used up (429): You exceeded your current quota, please check your plan",
    fails(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan"),
  ),
  ok(
    "Gemini",
    "is overloaded before the stream, once",
    fails(503, "UNAVAILABLE", "The model is overloaded."),
    fine,
  ),
  failed(
    "Gemini",
    "reports that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window (400): The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    fails(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
  ),
];

export const GOOGLE_ROWS: readonly HostileRow[] = [...STREAMS, ...CALLS, ...ENDS, ...BREAKS, ...STATUSES].map(
  (row) => ({ format: "google", ...row }),
);
