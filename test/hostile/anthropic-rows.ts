import type { HostileRow, Reply } from "./hostile-row.ts";
import { failed, json, LS_INPUT, ok, REFUSED, type Row } from "./row-parts.ts";

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = event("message_start", {
  message: {
    id: "m1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 3 },
  },
});
const begin = (block: object, index = 0): string =>
  event("content_block_start", { index, content_block: block });
const delta = (fields: object, index = 0): string => event("content_block_delta", { index, delta: fields });
const end = (index = 0): string => event("content_block_stop", { index });
const piece = (text: string, index = 0): string => delta({ type: "text_delta", text }, index);
const text = (words: string, index = 0): string =>
  begin({ type: "text", text: "" }, index) + piece(words, index) + end(index);
const tool = (input: string, name = "terminal"): string =>
  begin({ type: "tool_use", id: "t1", name, input: {} }) +
  delta({ type: "input_json_delta", partial_json: input }) +
  end();
const reason = (stop: string | null): string =>
  event("message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 1 } });
const STOP = event("message_stop");
const stream = (...body: readonly (string | Uint8Array)[]): Reply => ({ body });
const ends = (stop: string, ...before: readonly string[]): Reply =>
  stream(START, ...before, reason(stop), STOP);
const fine = ends("end_turn", text("Hi."));
const fails = (status: number, type: string, message: string): Reply =>
  json(status, { type: "error", error: { type, message } });

const STREAMS: readonly Row[] = [
  ok(
    "LM Studio and proxies in front of local models",
    "puts the reasoning into the text, in think tags",
    ends(
      "end_turn",
      begin({ type: "text", text: "" }) + piece("<think>Hm.</th") + piece("ink>\n\nHi.") + end(),
    ),
  ),
  ok(
    "Anthropic",
    "sends pings between events",
    stream(START, event("ping"), text("Hi."), event("ping"), reason("end_turn"), STOP),
  ),
  ok(
    "Anthropic",
    "sends an unknown event",
    stream(START, event("message_note", { note: 1 }), text("Hi."), reason("end_turn"), STOP),
  ),
  ok(
    "Anthropic",
    "sends an unknown block",
    stream(
      START,
      begin({ type: "hologram", shape: {} }) + delta({ type: "hologram_delta", x: 1 }) + end(),
      text("Hi.", 1),
      reason("end_turn"),
      STOP,
    ),
  ),
  ok(
    "Anthropic",
    "sends an unknown delta in a known block",
    stream(
      START,
      begin({ type: "text", text: "" }),
      delta({ type: "colour_delta", colour: "red" }),
      piece("Hi."),
      end(),
      reason("end_turn"),
      STOP,
    ),
  ),
  ok(
    "Anthropic",
    "runs its own tool",
    stream(
      START,
      begin({ type: "server_tool_use", id: "s1", name: "web_search", input: {} }) + end(),
      begin({ type: "web_search_tool_result", tool_use_id: "s1", content: [{ type: "new" }] }, 1) + end(1),
      text("Hi.", 2),
      reason("end_turn"),
      STOP,
    ),
  ),
  ok(
    "Anthropic",
    "pauses a long answer, twice",
    ends(
      "pause_turn",
      begin({ type: "server_tool_use", id: "s1", name: "web_search", input: {} }) +
        delta({ type: "input_json_delta", partial_json: '{"query":"x"}' }) +
        end(),
    ),
    json(200, { content: [{ type: "text", text: "H" }], stop_reason: "pause_turn" }),
    ends("end_turn", text("i.")),
  ),
  {
    who: "Anthropic",
    does: "pauses its answer, every time",
    replies: [ends("pause_turn", text("H"))],
    outcome: "failed",
    reads: "{provider} paused its answer 20 times and did not end it.",
    requests: 21,
  },
  ok("Anthropic", "pauses after a call", ends("pause_turn", tool(LS_INPUT)), fine),
  ok(
    "Anthropic",
    "redacts its reasoning",
    stream(
      START,
      begin({ type: "redacted_thinking", data: "xyz" }) + end(),
      text("Hi.", 1),
      reason("end_turn"),
      STOP,
    ),
  ),
  ok(
    "MiniMax",
    "sends reasoning without a signature",
    stream(
      START,
      begin({ type: "thinking", thinking: "" }) + delta({ type: "thinking_delta", thinking: "Hm." }) + end(),
      text("Hi.", 1),
      reason("end_turn"),
      STOP,
    ),
  ),
  ok(
    "LiteLLM",
    "sends no usage",
    stream(
      event("message_start", { message: { id: "m1" } }),
      text("Hi."),
      event("message_delta", { delta: { stop_reason: "end_turn" } }),
      STOP,
    ),
  ),
  ok("One API", "omits message_start", stream(text("Hi."), reason("end_turn"), STOP)),
  ok("One API", "omits content_block_start", stream(START, piece("Hi."), reason("end_turn"), STOP)),
  ok(
    "Kimi",
    "puts the text into content_block_start",
    stream(START, begin({ type: "text", text: "Hi." }), end(), reason("end_turn"), STOP),
  ),
  ok(
    "claude-code-router",
    "sends the type only in `event:`",
    stream(
      `${START}${text("Hi.")}${reason("end_turn")}${STOP}`.replaceAll(
        /data: \{"type":"[a-z_]+",?/g,
        "data: {",
      ),
    ),
  ),
  ok(
    "New API",
    "omits the lines with `event:`",
    stream(`${START}${text("Hi.")}${reason("end_turn")}${STOP}`.replaceAll(/event: .*\n/g, "")),
  ),
  ok("vLLM", "ends without message_stop", stream(START, text("Hi."), reason("end_turn"))),
  ok("vLLM", "ends with null as its stop reason", stream(START, text("Hi."), reason(null), STOP)),
  ok(
    "llama.cpp",
    "ends its last event without a line break",
    stream(START, text("Hi."), reason("end_turn").trimEnd()),
  ),
  ok("every load balancer", "resets the connection after the stop reason", {
    body: [START, text("Hi."), reason("end_turn")],
    ends: "reset",
  }),
  ok("LM Studio", "keeps the connection open after the stop reason", {
    body: [START, text("Hi."), reason("end_turn")],
    ends: "hang",
  }),
  ok(
    "IIS, ASP.NET",
    "ends lines with CR and LF",
    stream(`${START}${text("Hi.")}${reason("end_turn")}${STOP}`.replaceAll("\n", "\r\n")),
  ),
  ok("Cloudflare", "compresses with gzip although the client did not ask for it", {
    ...fine,
    encoding: "gzip",
  }),
  ok("Cloudflare", "compresses with brotli although the client did not ask for it", {
    ...fine,
    encoding: "br",
  }),
  {
    ...ok("Caddy", "compresses with zstd (Node 22.15 and newer)", { ...fine, encoding: "zstd" }),
    zstd: true,
  },
  {
    ...failed(
      "Caddy",
      "compresses with zstd (older Node)",
      "{provider} compressed its answer with zstd, which this version of Node cannot decode.",
      { ...fine, headers: { "content-encoding": "zstd" } },
    ),
    zstd: false,
  },
  ok(
    "Bedrock gateways",
    "sends a complete JSON answer although a stream was requested",
    json(200, { type: "message", content: [{ type: "text", text: "Hi." }], stop_reason: "end_turn" }),
  ),
  ok("a new model", "stops with an unknown reason", ends("because", text("Hi."))),
  {
    ...ok(
      "MiniMax",
      "sends reasoning and stops without text",
      ends("end_turn", begin({ type: "thinking", thinking: "Hi." }) + end()),
    ),
  },
];

const CALLS: readonly Row[] = [
  ok(
    "Kimi",
    "puts the input of a call into content_block_start",
    ends(
      "tool_use",
      begin({ type: "tool_use", id: "t1", name: "terminal", input: { command: "ls" } }) + end(),
    ),
    fine,
  ),
  ok(
    "Ollama",
    "calls a tool without input",
    ends("tool_use", begin({ type: "tool_use", id: "t1", name: "terminal", input: {} }) + end()),
    fine,
  ),
  ok(
    "vLLM",
    "sends call ids with characters that the format does not allow",
    ends("tool_use", tool(LS_INPUT).replace('"t1"', '"functions.t:0"')),
    fine,
  ),
  ok("LM Studio", "sends the stop reason end_turn with a call", ends("end_turn", tool(LS_INPUT)), fine),
  ok(
    "llama.cpp",
    "sends the same call ids again in the next answer",
    ends("tool_use", tool(LS_INPUT)),
    ends("tool_use", tool(LS_INPUT)),
    fine,
  ),
  ok(
    "Bedrock gateways",
    "sends a complete call although a stream was requested",
    json(200, {
      content: [{ type: "tool_use", id: "t1", name: "terminal", input: { command: "ls" } }],
      stop_reason: "tool_use",
    }),
    fine,
  ),
  ok(
    "every model with an output limit",
    "is cut off in the middle of a call, once",
    ends("max_tokens", tool('{"command":"ec')),
    fine,
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of a call, every time",
    replies: [ends("max_tokens", tool('{"command":"ec'))],
    outcome: "cut",
    reads: "The call to terminal was cut off by the model's output limit.",
    requests: 4,
  },
  ok(
    "every provider",
    "loses the connection in the middle of a call, once",
    { body: [START, begin({ type: "tool_use", id: "t1", name: "terminal", input: {} })], ends: "close" },
    fine,
  ),
];

const ENDS: readonly Row[] = [
  ok(
    "every model with an output limit",
    "is cut off in the middle of its text, once",
    ends("max_tokens", text("H")),
    ends("end_turn", text("i.")),
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of its text, every time",
    replies: [ends("max_tokens", text("on "))],
    outcome: "cut",
    prints: "on on on on ",
    reads: "The answer was cut off by the model's output limit.",
    requests: 4,
  },
  {
    who: "Anthropic, Z.ai",
    does: "ends with model_context_window_exceeded",
    replies: [ends("model_context_window_exceeded", text("So"))],
    outcome: "cut",
    prints: "So",
    reads: "The answer was cut off by the end of the model's context window.",
  },
  {
    who: "Anthropic",
    does: "refuses without text",
    replies: [ends("refusal")],
    outcome: "refused",
    reads: REFUSED,
  },
  {
    who: "Anthropic",
    does: "refuses after some text",
    replies: [ends("refusal", text("Well, "))],
    outcome: "refused",
    prints: "Well, ",
    reads: REFUSED,
  },
  {
    who: "Anthropic",
    does: "refuses in the middle of a call",
    replies: [ends("refusal", tool('{"comm'))],
    outcome: "refused",
    reads: REFUSED,
  },
  failed(
    "company proxies, Squid",
    "requires credentials for a proxy that is not configured",
    "A proxy on the way to {provider} requires a user name and password (407).",
    fails(407, "authentication_error", "Proxy Authentication Required"),
  ),
  failed(
    "Anthropic",
    "gives an empty answer, every time",
    "{provider} gave an empty answer.",
    ends("end_turn"),
    4,
  ),
  ok("Anthropic", "gives an empty answer, once", ends("end_turn"), fine),
];

const BREAKS: readonly Row[] = [
  ok(
    "Anthropic",
    "is overloaded in the middle of the text, once",
    stream(
      START,
      begin({ type: "text", text: "" }),
      piece("H"),
      event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
    ),
    fine,
  ),
  failed(
    "Anthropic",
    "is overloaded before the text, every time",
    "{provider} is not available: Overloaded",
    stream(event("error", { error: { type: "overloaded_error", message: "Overloaded" } })),
    4,
  ),
  failed(
    "Anthropic",
    "fails in the middle of the stream, every time",
    "{provider} is not available: Internal server error",
    stream(START, event("error", { error: { type: "api_error", message: "Internal server error" } })),
    4,
  ),
  failed(
    "One API",
    "sends an event named error without a type in its data",
    "{provider} is not available: upstream is away",
    stream('event: error\ndata: {"message":"upstream is away"}\n\n'),
    4,
  ),
  failed(
    "New API",
    "sends an error without `data:` with the content type of a stream",
    "{provider} is not available: no channel",
    stream('{"error":{"message":"no channel"}}'),
    4,
  ),
  ok(
    "every provider",
    "loses the connection in the middle of the text, once",
    { body: [START, begin({ type: "text", text: "" }), piece("H")], ends: "reset" },
    fine,
  ),
  failed(
    "every provider",
    "ends the stream in the middle of the text, every time",
    "{provider} ended its answer early.",
    stream(START, begin({ type: "text", text: "" }), piece("H")),
    4,
  ),
  ok("every load balancer", "resets the connection before the headers, once", { unanswered: "reset" }, fine),
  ok("AWS ALB", "goes silent before the headers, once", { unanswered: "hang" }, fine),
  ok(
    "Ollama",
    "goes silent in the middle of the text, once",
    { body: [START, begin({ type: "text", text: "" }), piece("H")], ends: "hang" },
    fine,
  ),
  failed(
    "every gateway",
    "sends an event that is not JSON",
    "{provider} sent a response that could not be parsed.",
    stream(START, "data: {oops\n\n"),
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
    "Anthropic",
    "refuses a parameter",
    "{provider} refused the request (400): temperature: Extra inputs are not permitted",
    fails(400, "invalid_request_error", "temperature: Extra inputs are not permitted"),
  ),
  failed(
    "Anthropic",
    "rejects the key",
    "{provider} did not accept the key (401): invalid x-api-key",
    fails(401, "authentication_error", "invalid x-api-key"),
  ),
  failed(
    "Anthropic",
    "has no credit left",
    "{provider} reports that the plan or the credit is used up (400): Your credit balance is too low to access the Anthropic API.",
    fails(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
  ),
  failed(
    "Anthropic",
    "does not know the model",
    "{provider} does not know the model or the address (404): model: m",
    fails(404, "not_found_error", "model: m"),
  ),
  ok(
    "Anthropic",
    "limits the rate of requests, once",
    json(429, { error: { type: "rate_limit_error", message: "slow down" } }, { "retry-after": "1" }),
    fine,
  ),
  ok(
    "Anthropic",
    "is overloaded before the stream, once",
    fails(529, "overloaded_error", "Overloaded"),
    fine,
  ),
  failed(
    "Anthropic",
    "reports that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window (400): prompt is too long: 210000 tokens > 200000 maximum",
    fails(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
  ),
  failed(
    "Anthropic",
    "refuses a body of this size",
    "{provider} reports that the conversation does not fit into the model's window (413): Request exceeds the maximum size",
    fails(413, "request_too_large", "Request exceeds the maximum size"),
  ),
  failed(
    "MiniMax",
    "reports in its own words that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window (400): invalid params, context window exceeds limit (2013)",
    fails(400, "invalid_request_error", "invalid params, context window exceeds limit (2013)"),
  ),
  failed(
    "Z.ai",
    "reports in its own words that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window (400): tokens in request more than max tokens allowed",
    fails(400, "1210", "tokens in request more than max tokens allowed"),
  ),
  ok(
    "DeepSeek, vLLM",
    "allows a lower output limit than requested",
    fails(
      400,
      "invalid_request_error",
      "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ),
    fine,
  ),
];

export const ANTHROPIC_ROWS: readonly HostileRow[] = [
  ...STREAMS,
  ...CALLS,
  ...ENDS,
  ...BREAKS,
  ...STATUSES,
].map((row) => ({
  format: "anthropic",
  ...row,
}));
