import type { HostileRow, Reply } from "./hostile-row.ts";
import { failed, json, LS_INPUT, ok, REFUSED, type Row } from "./row-parts.ts";

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = event("response.created", { response: { id: "resp_1", status: "in_progress", output: [] } });
const begin = (item: object, index = 0): string =>
  event("response.output_item.added", { output_index: index, item });
const end = (item: object, index = 0): string =>
  event("response.output_item.done", { output_index: index, item });
const piece = (delta: string, index = 0): string =>
  event("response.output_text.delta", { output_index: index, content_index: 0, delta });
const MESSAGE = { type: "message", id: "msg_1", role: "assistant", content: [] };
const said = (text: string) => ({ ...MESSAGE, content: [{ type: "output_text", text }] });
const text = (words: string, index = 0): string =>
  begin(MESSAGE, index) + piece(words, index) + end(said(words), index);
const call = (input: string, more: object = {}) => ({
  type: "function_call",
  id: "fc_1",
  call_id: "t1",
  name: "terminal",
  arguments: input,
  ...more,
});
const inputPiece = (delta: string): string =>
  event("response.function_call_arguments.delta", { output_index: 0, delta });
const tool = (input: string): string => begin(call("")) + inputPiece(input) + end(call(input));
const ending = (status: string, more: object = {}): string =>
  event(`response.${status}`, { response: { id: "resp_1", status, usage: { input_tokens: 3 }, ...more } });
const DONE = ending("completed");
const incomplete = (reason: string): string => ending("incomplete", { incomplete_details: { reason } });
const stream = (...body: readonly (string | Uint8Array)[]): Reply => ({ body });
const fine = stream(START, text("Hi."), DONE);
const whole = (item: object, more: object = {}): Reply =>
  json(200, { object: "response", status: "completed", output: [item], ...more });
const fails = (status: number, message: string, code: string | null = null): Reply =>
  json(status, { error: { message, type: "invalid_request_error", param: null, code } });
const crashes = (code: string, message: string): Reply =>
  stream(START, ending("failed", { error: { code, message } }));
const thought = (more: object = {}) => ({ type: "reasoning", id: "rs_1", summary: [], ...more });

const STREAMS: readonly Row[] = [
  ok(
    "OpenAI",
    "encrypts its reasoning",
    stream(START, begin(thought()), end(thought({ encrypted_content: "gAAA" })), text("Hi.", 1), DONE),
  ),
  ok(
    "OpenAI",
    "sends reasoning without content",
    stream(START, begin(thought()), end(thought()), text("Hi.", 1), DONE),
  ),
  ok(
    "OpenAI",
    "summarizes its reasoning in two parts",
    stream(
      START,
      begin(thought()),
      event("response.reasoning_summary_part.added", { output_index: 0, summary_index: 0 }),
      event("response.reasoning_summary_text.delta", { output_index: 0, delta: "Hm." }),
      event("response.reasoning_summary_part.added", { output_index: 0, summary_index: 1 }),
      event("response.reasoning_summary_text.delta", { output_index: 0, delta: "So." }),
      end(thought({ encrypted_content: "gAAA" })),
      text("Hi.", 1),
      DONE,
    ),
  ),
  ok(
    "OpenAI",
    "sends an unknown event",
    stream(START, event("response.note", { note: 1 }), text("Hi."), DONE),
  ),
  ok(
    "OpenAI",
    "sends an unknown item",
    stream(START, begin({ type: "hologram" }), end({ type: "hologram" }), text("Hi.", 1), DONE),
  ),
  ok(
    "OpenAI",
    "sends keep-alive events",
    stream(START, event("keepalive"), text("Hi."), event("keepalive"), DONE),
  ),
  ok(
    "OpenAI",
    "marks a message with its phase",
    stream(START, begin({ ...MESSAGE, phase: "final_answer" }), piece("Hi."), end(said("Hi.")), DONE),
  ),
  ok("LM Studio", "sends text only in the finished item", stream(START, end(said("Hi.")), DONE)),
  ok(
    "vLLM",
    "sends text only in the last event",
    stream(START, ending("completed", { output: [said("Hi.")] })),
  ),
  ok("Ollama", "sends text without its item", stream(START, piece("Hi."), DONE)),
  ok(
    "LM Studio and proxies in front of local models",
    "puts the reasoning into the text, in think tags",
    stream(START, begin(MESSAGE), piece("<think>Hm.</th"), piece("ink>\n\nHi."), DONE),
  ),
  ok("LiteLLM", "sends [DONE] at the end", stream(START, text("Hi."), DONE, "data: [DONE]\n\n")),
  ok(
    "gateways for Codex",
    "ends with response.done",
    stream(START, text("Hi."), event("response.done", { response: {} })),
  ),
  ok(
    "LiteLLM",
    "sends no usage",
    stream(text("Hi."), event("response.completed", { response: { status: "completed" } })),
  ),
  ok(
    "New API",
    "omits the lines with `event:`",
    stream(`${START}${text("Hi.")}${DONE}`.replaceAll(/event: .*\n/g, "")),
  ),
  ok(
    "claude-code-router",
    "sends the type only in `event:`",
    stream(`${START}${text("Hi.")}${DONE}`.replaceAll(/data: \{"type":"[a-z_.]+",?/g, "data: {")),
  ),
  ok("llama.cpp", "ends its last event without a line break", stream(START, text("Hi."), DONE.trimEnd())),
  ok("every load balancer", "resets the connection after the last event", {
    body: [START, text("Hi."), DONE],
    ends: "reset",
  }),
  ok("LM Studio", "keeps the connection open after the last event", {
    body: [START, text("Hi."), DONE],
    ends: "hang",
  }),
  ok(
    "IIS, ASP.NET",
    "ends lines with CR and LF",
    stream(`${START}${text("Hi.")}${DONE}`.replaceAll("\n", "\r\n")),
  ),
  ok("Cloudflare", "compresses with gzip although the client did not ask for it", {
    ...fine,
    encoding: "gzip",
  }),
  ok("Azure OpenAI", "sends a complete JSON answer although a stream was requested", whole(said("Hi."))),
  ok(
    "LM Studio",
    "sends reasoning and stops without text",
    whole({ type: "reasoning", summary: [{ type: "summary_text", text: "Hi." }] }),
  ),
];

const CALLS: readonly Row[] = [
  ok("OpenAI", "calls a tool", stream(START, tool(LS_INPUT), DONE), fine),
  ok("LM Studio", "sends a call only in the finished item", stream(START, end(call(LS_INPUT)), DONE), fine),
  ok("vLLM", "sends a complete call although a stream was requested", whole(call(LS_INPUT)), fine),
  ok("Ollama", "calls a tool without input", stream(START, begin(call("")), end(call("")), DONE), fine),
  ok(
    "vLLM",
    "sends a call without a call id",
    stream(START, end({ type: "function_call", name: "terminal", arguments: LS_INPUT }), DONE),
    fine,
  ),
  ok(
    "OpenAI",
    "reasons before a call",
    stream(START, end(thought({ encrypted_content: "gAAA" })), end(call(LS_INPUT), 1), DONE),
    fine,
  ),
  ok(
    "llama.cpp",
    "sends the same call ids again in the next answer",
    stream(START, tool(LS_INPUT), DONE),
    stream(START, tool(LS_INPUT), DONE),
    fine,
  ),
  ok(
    "every model with an output limit",
    "is cut off in the middle of a call, once",
    stream(START, begin(call("")), inputPiece('{"command":"ec'), incomplete("max_output_tokens")),
    fine,
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of a call, every time",
    replies: [stream(START, begin(call("")), inputPiece('{"command":"ec'), incomplete("max_output_tokens"))],
    outcome: "cut",
    reads: "The call to terminal was cut off by the model's output limit.",
    requests: 4,
  },
  ok(
    "every provider",
    "loses the connection in the middle of a call, once",
    { body: [START, begin(call("")), inputPiece('{"comm')], ends: "close" },
    fine,
  ),
];

const ENDS: readonly Row[] = [
  ok(
    "every model with an output limit",
    "is cut off in the middle of its text, once",
    stream(START, text("H"), incomplete("max_output_tokens")),
    stream(START, text("i."), DONE),
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of its text, every time",
    replies: [stream(START, text("on "), incomplete("max_output_tokens"))],
    outcome: "cut",
    prints: "on on on on ",
    reads: "The answer was cut off by the model's output limit.",
    requests: 4,
  },
  {
    who: "OpenAI",
    does: "sends its refusal as a separate type of content",
    replies: [
      stream(
        START,
        begin(MESSAGE),
        event("response.refusal.delta", { output_index: 0, delta: "I cannot." }),
        end({ ...MESSAGE, content: [{ type: "refusal", refusal: "I cannot." }] }),
        DONE,
      ),
    ],
    outcome: "refused",
    prints: "I cannot.",
    reads: REFUSED,
  },
  {
    who: "Azure OpenAI",
    does: "is stopped by its content filter",
    replies: [stream(START, text("Well, "), incomplete("content_filter"))],
    outcome: "refused",
    prints: "Well, ",
    reads: REFUSED,
  },
  ok("OpenAI", "gives an empty answer, once", stream(START, DONE), fine),
  failed(
    "OpenAI",
    "gives only encrypted reasoning, every time",
    "{provider} gave an empty answer.",
    stream(START, end(thought({ encrypted_content: "gAAA" })), DONE),
    4,
  ),
];

const BREAKS: readonly Row[] = [
  ok("OpenAI", "fails in its last event, once", crashes("server_error", "The server had an error"), fine),
  failed(
    "OpenAI",
    "fails in its last event, every time",
    "{provider} is not available: The server had an error",
    crashes("server_error", "The server had an error"),
    4,
  ),
  ok(
    "OpenAI",
    "limits the rate of requests in the stream, once",
    crashes("rate_limit_exceeded", "Please try again in 1s"),
    fine,
  ),
  failed(
    "OpenAI",
    "reports in the stream that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window: Your input exceeds the context window of this model.",
    crashes("context_length_exceeded", "Your input exceeds the context window of this model."),
  ),
  failed(
    "OpenAI",
    "refuses the prompt in the stream",
    "{provider} refused the request: Your prompt was flagged.",
    crashes("invalid_prompt", "Your prompt was flagged."),
  ),
  failed(
    "OpenAI",
    "sends an error event, every time",
    "{provider} is not available: overloaded",
    stream(START, event("error", { code: "server_error", message: "overloaded", param: null })),
    4,
  ),
  ok("OpenAI", "cancels its answer, once", stream(START, text("H"), ending("cancelled")), fine),
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
    { body: [START, begin(MESSAGE), piece("H")], ends: "reset" },
    fine,
  ),
  failed(
    "every provider",
    "ends the stream in the middle of the text, every time",
    "{provider} ended its answer early.",
    stream(START, begin(MESSAGE), piece("H")),
    4,
  ),
  ok("every load balancer", "resets the connection before the headers, once", { unanswered: "reset" }, fine),
  ok("AWS ALB", "goes silent before the headers, once", { unanswered: "hang" }, fine),
  ok(
    "Ollama",
    "goes silent in the middle of the text, once",
    { body: [START, begin(MESSAGE), piece("H")], ends: "hang" },
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
    "OpenAI",
    "refuses a parameter",
    "{provider} refused the request (400): Unsupported parameter: 'temperature'",
    fails(400, "Unsupported parameter: 'temperature'"),
  ),
  ok(
    "OpenAI",
    "refuses encrypted reasoning",
    fails(400, "Encrypted content is not supported with this model."),
    fine,
  ),
  ok("LM Studio", "does not know the cache key", fails(400, "Unknown parameter: 'prompt_cache_key'."), fine),
  failed(
    "OpenAI",
    "rejects the key",
    "{provider} did not accept the key (401): Incorrect API key provided",
    fails(401, "Incorrect API key provided", "invalid_api_key"),
  ),
  failed(
    "servers without the Responses API",
    "does not know the address",
    "{provider} does not know the model or the address (404): Not Found",
    fails(404, "Not Found"),
  ),
  ok(
    "OpenAI",
    "limits the rate of requests, once",
    fails(429, "Rate limit reached", "rate_limit_exceeded"),
    fine,
  ),
  failed(
    "OpenAI",
    "has no credit left",
    "{provider} reports that the plan or the credit is used up (429): You exceeded your current quota",
    fails(429, "You exceeded your current quota", "insufficient_quota"),
  ),
  failed(
    "OpenAI",
    "reports that the conversation is too long",
    "{provider} reports that the conversation does not fit into the model's window (400): Your input exceeds the context window of this model.",
    fails(400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
  ),
];

export const RESPONSES_ROWS: readonly HostileRow[] = [
  ...STREAMS,
  ...CALLS,
  ...ENDS,
  ...BREAKS,
  ...STATUSES,
].map((row) => ({ format: "responses", ...row }));
