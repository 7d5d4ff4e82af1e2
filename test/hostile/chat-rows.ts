import type { HostileRow, Reply } from "./hostile-row.ts";
import { failed, json, LS_INPUT, ok, REFUSED, type Row } from "./row-parts.ts";

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (fields: object, reason: string | null = null): string =>
  event({ id: "c1", choices: [{ index: 0, delta: fields, finish_reason: reason }] });
const say = (text: string): string => delta({ content: text });
const DONE = "data: [DONE]\n\n";
const stream = (...body: readonly (string | Uint8Array)[]): Reply => ({ body });
const ends = (reason: string, ...before: readonly string[]): Reply =>
  stream(...before, delta({}, reason), DONE);
const fine = ends("stop", say("Hi."));
const html = (status: number, page: string): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  body: [page],
});
const fails = (status: number, message: string, more: object = {}): Reply =>
  json(status, { error: { message, ...more } });
const call = (fields: object): string => delta({ tool_calls: [fields] });
const terminal = (input: string, more: object = {}): string =>
  call({ index: 0, id: "t1", function: { name: "terminal", arguments: input }, ...more });
const refused = (who: string, does: string, reply: Reply, prints = ""): Row => ({
  who,
  does,
  replies: [reply],
  outcome: "refused",
  prints,
  reads: REFUSED,
});
const TOO_LONG = "{provider} reports that the conversation does not fit into the model's window";
const tooLong = (who: string, status: number, message: string, more: object = {}): Row =>
  failed(
    who,
    `reports with ${status} that the conversation is too long, in its own words`,
    `${TOO_LONG} (${status}): ${message}`,
    fails(status, message, more),
  );

const STREAMS: readonly Row[] = [
  ok(
    "OpenRouter",
    "sends comments while it waits",
    stream(": OPENROUTER PROCESSING\n\n", say("Hi."), delta({}, "stop"), DONE),
  ),
  ok(
    "Azure OpenAI",
    "starts with an event without choices",
    stream(event({ choices: [], prompt_filter_results: [{}] }), say("Hi."), delta({}, "stop"), DONE),
  ),
  ok(
    "Perplexity",
    "sends events whose choices are null",
    stream(event({ choices: null }), say("Hi."), delta({}, "stop"), DONE),
  ),
  ok(
    "OpenAI",
    "sends the usage in an event after the finish reason",
    stream(say("Hi."), delta({}, "stop"), event({ choices: [], usage: { prompt_tokens: 3 } }), DONE),
  ),
  ok(
    "Mistral",
    "sends content as a list of blocks, including thinking",
    ends(
      "stop",
      delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
      delta({ content: [{ type: "text", text: "Hi." }] }),
    ),
  ),
  ok(
    "llama.cpp, vLLM and Ollama without a parser for the model",
    "puts the reasoning into the text, in think tags",
    ends("stop", say("<thi"), say("nk>Hm.</th"), say("ink>\n\n"), say("Hi.")),
  ),
  ok(
    "vLLM, SGLang and llama.cpp with the templates of DeepSeek R1 and QwQ",
    "puts the reasoning into the text, with only a closing tag",
    ends("stop", say("Hm, "), say('"hi".</th'), say("ink>"), say("\n\nHi.")),
  ),
  ok(
    "SiliconFlow",
    "sends a complete JSON answer, with only a closing tag",
    json(200, { choices: [{ message: { content: "Hm.\n</think>\n\nHi." }, finish_reason: "stop" }] }),
  ),
  ok(
    "small local models",
    "nests think tags",
    ends("stop", say("<think>Hm. <think>Well.</think>"), say(" So.</think>"), say("Hi.")),
  ),
  ok(
    "OpenRouter",
    "sends signed reasoning in details",
    ends(
      "stop",
      delta({ reasoning: "Hm.", reasoning_details: [{ type: "reasoning.text", text: "Hm.", index: 0 }] }),
      delta({ reasoning_details: [{ type: "reasoning.text", signature: "c2ln", index: 0 }] }),
      say("Hi."),
    ),
  ),
  failed(
    "OpenRouter",
    "sends only encrypted reasoning, every time",
    "{provider} gave an empty answer.",
    ends("stop", delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "gAAA", index: 0 }] })),
    4,
  ),
  ok("llama.cpp, Ollama", "ends without [DONE]", stream(say("Hi."), delta({}, "stop"))),
  ok("FastChat", "ends its last event without a line break", stream(say("Hi."), delta({}, "stop").trimEnd())),
  ok("vLLM behind a load balancer", "resets the connection after the finish reason", {
    body: [say("Hi."), delta({}, "stop")],
    ends: "reset",
  }),
  ok("nginx", "closes the connection after the finish reason, in the middle of a chunk", {
    body: [say("Hi."), delta({}, "stop")],
    ends: "close",
  }),
  ok("LM Studio", "keeps the connection open after the finish reason", {
    body: [say("Hi."), delta({}, "stop")],
    ends: "hang",
  }),
  ok(
    "IIS, ASP.NET",
    "ends lines with CR and LF",
    stream(`${say("Hi.")}${delta({}, "stop")}${DONE}`.replaceAll("\n", "\r\n")),
  ),
  ok(
    "One API",
    "omits the space after `data:`",
    stream(`${say("Hi.")}${delta({}, "stop")}`.replaceAll("data: ", "data:"), DONE),
  ),
  ok(
    "SiliconFlow",
    "sends empty data to keep the connection open",
    stream("data: \n\n", say("Hi."), "data:\n\n", delta({}, "stop"), DONE),
  ),
  ok(
    "Windows gateways",
    "starts with a byte order mark",
    stream("\ufeff", say("Hi."), delta({}, "stop"), DONE),
  ),
  {
    ...ok(
      "every proxy",
      "splits a character across pieces",
      stream(...bytesOf(`${say("Grüße 🎉")}${delta({}, "stop")}${DONE}`)),
    ),
    prints: "Grüße 🎉",
  },
  ok(
    "Ollama",
    "sends an empty finish reason until the end",
    stream(delta({ content: "Hi." }, ""), delta({}, "stop"), DONE),
  ),
  ok("proxies of Gemini", "sends the finish reason in upper case", ends("STOP", say("Hi."))),
  ok("TGI", "stops with eos_token", ends("eos_token", say("Hi."))),
  ok("a new model", "stops with an unknown reason", ends("because", say("Hi."))),
  ok("Cloudflare", "compresses with gzip although the client did not ask for it", {
    ...fine,
    encoding: "gzip",
  }),
  ok("Cloudflare", "compresses with brotli although the client did not ask for it", {
    ...fine,
    encoding: "br",
  }),
  ok("IIS", "compresses with deflate although the client did not ask for it", {
    ...fine,
    encoding: "deflate",
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
  ok("LiteLLM", "streams with the content type application/json", {
    ...fine,
    headers: { "content-type": "application/json" },
  }),
  ok("Flask gateways", "streams with the content type text/plain", {
    ...fine,
    headers: { "content-type": "text/plain" },
  }),
  ok(
    "Cloudflare Workers AI",
    "sends a complete JSON answer although a stream was requested",
    json(200, { choices: [{ message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }] }),
  ),
  ok(
    "One API",
    "sends a complete JSON answer with the content type of a stream",
    stream(JSON.stringify({ choices: [{ message: { content: "Hi." }, finish_reason: "stop" }] })),
  ),
  {
    ...ok(
      "DeepSeek",
      "sends reasoning and stops without text",
      ends("stop", delta({ reasoning_content: "Hi." })),
    ),
    prints: "Hi.",
  },
  ok(
    "Groq, OpenRouter",
    "sends reasoning as `reasoning`",
    ends("stop", delta({ reasoning: "Hm." }), say("Hi.")),
  ),
];

const CALLS: readonly Row[] = [
  ok(
    "Gemini",
    "omits the index of calls",
    ends("stop", call({ id: "t1", function: { name: "terminal", arguments: LS_INPUT } })),
    fine,
  ),
  ok(
    "Ollama",
    "gives every call the index 0",
    ends("tool_calls", terminal(LS_INPUT), terminal(LS_INPUT, { id: "t2" })),
    fine,
  ),
  ok(
    "Ollama",
    "sends arguments as an object",
    ends(
      "tool_calls",
      call({ index: 0, id: "t1", function: { name: "terminal", arguments: { command: "ls" } } }),
    ),
    fine,
  ),
  ok(
    "llama.cpp",
    "sends the same calls without ids in two answers",
    ends("tool_calls", call({ index: 0, function: { name: "terminal", arguments: LS_INPUT } })),
    ends("tool_calls", call({ index: 0, function: { name: "terminal", arguments: LS_INPUT } })),
    fine,
  ),
  {
    calls: 2,
    ...ok(
      "LocalAI of 2023, gateways to Azure OpenAI 2023-07-01",
      "calls with function_call, in pieces, twice",
      ends(
        "function_call",
        delta({ role: "assistant", content: null, function_call: { name: "terminal", arguments: "" } }),
        delta({ function_call: { arguments: '{"command":' } }),
        delta({ function_call: { arguments: '"ls"}' } }),
      ),
      ends("function_call", delta({ function_call: { name: "terminal", arguments: LS_INPUT } })),
      fine,
    ),
  },
  {
    calls: 1,
    ...ok(
      "llama-cpp-python, Qwen's openai_api.py",
      "sends a complete function_call although a stream was requested",
      json(200, {
        choices: [
          {
            message: {
              role: "assistant",
              content: "",
              function_call: { name: "terminal", arguments: LS_INPUT },
            },
            finish_reason: "function_call",
          },
        ],
      }),
      fine,
    ),
  },
  {
    who: "LocalAI of 2023",
    does: "is cut off in the middle of a function_call, every time",
    replies: [ends("length", delta({ function_call: { name: "terminal", arguments: '{"command":"ec' } }))],
    outcome: "cut",
    reads: "The call to terminal was cut off by the model's output limit.",
    requests: 4,
  },
  ok("Groq", "sends the finish reason stop with a call", ends("stop", terminal(LS_INPUT)), fine),
  ok(
    "Ollama",
    "sends a complete call although a stream was requested",
    json(200, {
      choices: [
        {
          message: { tool_calls: [{ id: "t1", function: { name: "terminal", arguments: LS_INPUT } }] },
          finish_reason: "stop",
        },
      ],
    }),
    fine,
  ),
  ok(
    "small local models",
    "sends a call whose arguments are not JSON",
    ends("tool_calls", terminal("{command: ls")),
    fine,
  ),
  ok(
    "vLLM",
    "calls a tool that does not exist",
    ends("tool_calls", terminal(LS_INPUT, { function: { name: "shell", arguments: "{}" } })),
    fine,
  ),
  ok(
    "every model with an output limit",
    "is cut off in the middle of a call, once",
    ends("length", say("I write it."), terminal('{"command":"ec')),
    fine,
  ),
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of a call, every time",
    replies: [ends("length", terminal('{"command":"ec'))],
    outcome: "cut",
    reads: "The call to terminal was cut off by the model's output limit.",
    requests: 4,
  },
  ok(
    "every provider",
    "loses the connection in the middle of a call, once",
    { body: [terminal('{"comm')], ends: "close" },
    fine,
  ),
];

const ENDS: readonly Row[] = [
  {
    ...ok(
      "every model with an output limit",
      "is cut off in the middle of its text, once",
      ends("length", say("H")),
      ends("stop", say("i.")),
    ),
  },
  {
    who: "every model with an output limit",
    does: "is cut off in the middle of its text, every time",
    replies: [ends("length", say("on "))],
    outcome: "cut",
    prints: "on on on on ",
    reads: "The answer was cut off by the model's output limit.",
    requests: 4,
  },
  {
    who: "DeepSeek, Qwen",
    does: "reasons until its output limit, every time",
    replies: [ends("length", delta({ reasoning_content: "Hm." }))],
    outcome: "cut",
    reads: "The model's reasoning was cut off by the model's output limit.",
    requests: 4,
  },
  {
    who: "Mistral",
    does: "ends with model_length at the end of the context window",
    replies: [ends("model_length", say("So"))],
    outcome: "cut",
    prints: "So",
    reads: "The answer was cut off by the end of the model's context window.",
  },
  {
    who: "Z.ai",
    does: "ends with model_context_window_exceeded",
    replies: [ends("model_context_window_exceeded", say("So"))],
    outcome: "cut",
    prints: "So",
    reads: "The answer was cut off by the end of the model's context window.",
  },
  refused(
    "OpenAI",
    "sends its refusal in a separate field",
    ends("stop", delta({ refusal: "I can't help." })),
    "I can't help.",
  ),
  refused(
    "Azure OpenAI",
    "filters the answer after some text",
    ends("content_filter", say("Well, ")),
    "Well, ",
  ),
  refused("Azure OpenAI", "filters the answer before any text", ends("content_filter")),
  refused("OpenAI", "filters the answer in the middle of a call", ends("content_filter", terminal('{"comm'))),
  refused("Gemini", "stops with SAFETY", ends("SAFETY")),
  refused("Gemini", "stops with RECITATION", ends("RECITATION", say("Once ")), "Once "),
  refused("Z.ai", "stops with sensitive", ends("sensitive")),
  failed(
    "company proxies, Squid",
    "requires credentials for a proxy that is not configured",
    "A proxy on the way to {provider} requires a user name and password (407).",
    fails(407, "Proxy Authentication Required: invalid api key"),
  ),
  failed(
    "Gemini, Qwen",
    "gives an empty answer, every time",
    "{provider} gave an empty answer.",
    ends("stop"),
    4,
  ),
  failed(
    "small local models",
    "answers with whitespace only, every time",
    "{provider} gave an empty answer.",
    ends("stop", say(" \n")),
    4,
  ),
  failed(
    "small local models",
    "reasons in think tags and stops without text, every time",
    "{provider} gave an empty answer.",
    ends("stop", say('<think>Hm. {"n":1}'), say("</think>\n")),
    4,
  ),
  failed(
    "small local models",
    "stops inside its think tags, every time",
    "{provider} gave an empty answer.",
    ends("stop", say("<think>Hm.")),
    4,
  ),
  ok("Gemini", "gives an empty answer, once", ends("stop"), fine),
];

const BROKE = "{provider} ended its answer early.";
const LOST = "The connection to {provider} broke in the middle of an answer.";
const BREAKS: readonly Row[] = [
  ok(
    "every provider",
    "loses the connection in the middle of the text, once",
    { body: [say("H")], ends: "reset" },
    fine,
  ),
  failed(
    "every provider",
    "loses the connection in the middle of the text, every time",
    LOST,
    { body: [say("H")], ends: "close" },
    4,
  ),
  ok("nginx", "ends the stream without a finish reason, once", stream(say("H")), fine),
  failed("nginx", "ends the stream without a finish reason, every time", BROKE, stream(say("H")), 4),
  ok("every load balancer", "resets the connection before the headers, once", { unanswered: "reset" }, fine),
  ok("AWS ALB", "goes silent before the headers, once", { unanswered: "hang" }, fine),
  ok("Ollama", "goes silent in the middle of the text, once", { body: [say("H")], ends: "hang" }, fine),
  failed("nginx", "sends an empty stream, every time", BROKE, stream(), 4),
  failed(
    "a proxy for something else",
    "sends a response that is not HTTP",
    "{provider} sent a response that could not be parsed.",
    { raw: "SSH-2.0-OpenSSH_9.6\r\n" },
    4,
  ),
  failed(
    "Cloudflare",
    "declares gzip and sends uncompressed data",
    "{provider} sent a response that could not be parsed.",
    { ...fine, headers: { "content-encoding": "gzip" } },
    4,
  ),
  failed(
    "every gateway",
    "sends half an event and ends",
    "{provider} sent a response that could not be parsed.",
    stream(say("H"), 'data: {"choices": [{"del'),
    4,
  ),
  ok("OpenRouter", "stops with error in the middle of the text, once", ends("error", say("H")), fine),
  failed(
    "DeepSeek",
    "stops with insufficient_system_resource, every time",
    BROKE,
    ends("insufficient_system_resource", say("H")),
    4,
  ),
  ok("Gemini", "stops with MALFORMED_FUNCTION_CALL, once", ends("MALFORMED_FUNCTION_CALL"), fine),
  ok("vLLM, SGLang", "stops with abort, once", ends("abort", say("H")), fine),
  ok(
    "OpenRouter",
    "sends an error event in the middle of the text, once",
    stream(say("H"), event({ error: { code: 502, message: "Provider returned error" } })),
    fine,
  ),
  failed(
    "Groq",
    "sends an event named error, every time",
    "{provider} is not available: the model crashed",
    stream(`event: error\n${event({ message: "the model crashed" })}`),
    4,
  ),
  failed(
    "vLLM",
    "sends an error object instead of an event",
    "{provider} refused the request (400): no such template",
    stream(event({ object: "error", message: "no such template", type: "BadRequestError", code: 400 })),
  ),
  failed(
    "LM Studio",
    "reports in the stream that the conversation is too long",
    `${TOO_LONG}: Trying to keep the first 5000 tokens when context the overflows.`,
    stream(
      `event: error\n${event({ error: { message: "Trying to keep the first 5000 tokens when context the overflows." } })}`,
    ),
  ),
  failed(
    "New API",
    "sends an error without `data:` with the content type of a stream",
    "{provider} is not available: no channel",
    stream(JSON.stringify({ error: { message: "no channel" } })),
    4,
  ),
  failed(
    "One API",
    "sends an error with status 200",
    "{provider} is not available: upstream is away",
    json(200, { error: { message: "upstream is away" } }),
    4,
  ),
  failed(
    "FastAPI gateways",
    "sends an error detail with status 200",
    "{provider} is not available: worker died",
    json(200, { detail: "worker died" }),
    4,
  ),
  failed(
    "a captive portal",
    "answers with an HTML page",
    "{provider} answered with an HTML page.",
    html(200, "<html>Log in</html>"),
    4,
  ),
  failed(
    "Cloudflare",
    "answers with an HTML page with the content type of a stream",
    "{provider} answered with an HTML page.",
    stream("<!doctype html><p>Just a moment"),
    4,
  ),
];

const STATUSES: readonly Row[] = [
  failed(
    "OpenAI",
    "refuses a parameter",
    "{provider} refused the request (400): Unsupported parameter",
    fails(400, "Unsupported parameter"),
  ),
  failed(
    "OpenAI",
    "rejects the key",
    "{provider} did not accept the key (401): Incorrect API key provided",
    fails(401, "Incorrect API key provided"),
  ),
  failed(
    "Gemini",
    "rejects the key with status 400",
    "{provider} did not accept the key (400): API key not valid. Please pass a valid API key.",
    fails(400, "API key not valid. Please pass a valid API key."),
  ),
  failed(
    "OpenRouter",
    "has no credit left",
    "{provider} reports that the plan or the credit is used up (402): Insufficient credits",
    fails(402, "Insufficient credits"),
  ),
  failed(
    "OpenAI",
    "reports a used-up quota with status 429",
    "{provider} reports that the plan or the credit is used up (429): You exceeded your current quota",
    fails(429, "You exceeded your current quota", { code: "insufficient_quota" }),
  ),
  failed(
    "Azure OpenAI",
    "denies access from this network",
    "{provider} did not accept the key (403): Access denied",
    fails(403, "Access denied"),
  ),
  failed(
    "Ollama",
    "does not know the model",
    "{provider} does not know the model or the address (404): model 'm' not found",
    fails(404, "model 'm' not found"),
  ),
  failed(
    "OpenRouter",
    "reports an unknown model with status 400",
    "{provider} does not know the model or the address (400): m is not a valid model ID",
    fails(400, "m is not a valid model ID"),
  ),
  ok(
    "Groq",
    "limits the rate of requests, once",
    json(429, { error: { message: "Rate limit reached" } }, { "retry-after": "1" }),
    fine,
  ),
  ok("every provider", "fails with status 500, once", fails(500, "oops"), fine),
  ok("Azure OpenAI", "reports a timeout, once", fails(408, "Timeout"), fine),
  failed(
    "nginx",
    "has no running upstream server, every time",
    "{provider} is not available (502): an HTML page",
    html(502, "<html>Bad Gateway</html>"),
    4,
  ),
  failed(
    "Cloudflare",
    "times out waiting for the upstream server, every time",
    "{provider} is not available (524): error code: 524",
    { status: 524, headers: { "content-type": "text/plain" }, body: ["error code: 524"] },
    4,
  ),
  failed(
    "Hugging Face",
    "is still loading the model, every time",
    "{provider} is not available (503): Model is loading",
    fails(503, "Model is loading"),
    4,
  ),
  failed(
    "an old address",
    "redirects",
    "{provider} answered with a redirect (308), which is not followed, to protect the key.",
    { status: 308, headers: { location: "http://127.0.0.1:9/" } },
  ),
  failed(
    "nginx",
    "refuses a body of this size",
    `${TOO_LONG} (413): an HTML page`,
    html(413, "<html>Request Entity Too Large</html>"),
  ),
  failed(
    "FastAPI gateways",
    "sends the error as a list",
    "{provider} refused the request (422): field required",
    json(422, { detail: [{ msg: "field required" }] }),
  ),
];

const WINDOWS: readonly Row[] = [
  tooLong(
    "OpenAI",
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  ),
  tooLong(
    "LM Studio",
    400,
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens.",
  ),
  tooLong(
    "TGI",
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
  ),
  tooLong(
    "Together",
    400,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`",
  ),
  tooLong("SGLang", 400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
  tooLong("Z.ai", 400, "tokens in request more than max tokens allowed", { code: "1210" }),
  tooLong("Copilot", 400, "prompt token count of 150000 exceeds the limit of 128000", {
    code: "model_max_prompt_tokens_exceeded",
  }),
  tooLong("Z.ai", 400, "Prompt exceeds max length", { code: "1261" }),
  tooLong("llama.cpp", 400, "the request exceeds the available context size, try increasing it", {
    type: "exceed_context_size_error",
  }),
  tooLong(
    "Mistral",
    400,
    "Prompt contains 33000 tokens, too large for model with 32768 maximum context length",
  ),
  tooLong(
    "Gemini",
    400,
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
  ),
  tooLong("Alibaba", 400, "Range of input length should be [1, 30720]"),
  tooLong("Groq", 413, "Please reduce the length of the messages or completion."),
  tooLong(
    "Cloudflare Workers AI",
    413,
    "The estimated number of input and maximum output tokens exceeded this model context window limit (4096).",
  ),
  tooLong("Cohere", 400, "too many tokens: size limit exceeded by 1200 tokens."),
];

function bytesOf(text: string): Uint8Array[] {
  return [...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]));
}

export const CHAT_ROWS: readonly HostileRow[] = [
  ...STREAMS,
  ...CALLS,
  ...ENDS,
  ...BREAKS,
  ...STATUSES,
  ...WINDOWS,
].map((row) => ({ format: "chat", ...row }));
