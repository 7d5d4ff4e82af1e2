import type { HostileRow, Reply } from "./hostile-row.ts";
import { failed, json, ok, type Row } from "./row-parts.ts";

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const message = (more: object): string =>
  line({ model: "m", message: { role: "assistant", content: "", ...more }, done: false });
const say = (content: string): string => message({ content });
const done = (more: object = { done_reason: "stop" }): string =>
  line({ model: "m", message: { role: "assistant", content: "" }, done: true, ...more });
const stream = (...body: readonly (string | Uint8Array)[]): Reply => ({
  headers: { "content-type": "application/x-ndjson" },
  body,
});
const fine = stream(say("Hi."), done());
const LS = { function: { name: "terminal", arguments: { command: "ls" } } };
const bytesOf = (text: string): Uint8Array[] => [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));

const ROWS: readonly Row[] = [
  ok("Ollama", "sends reasoning before its answer", stream(message({ thinking: "Hm." }), say("Hi."), done())),
  ok("older models", "think in tags", stream(say("<think>Hm.</think>Hi."), done())),
  ok("Ollama", "ends without a reason", stream(say("Hi."), done({}))),
  ok("Ollama", "sends the end with the text", stream(line({ message: { content: "Hi." }, done: true }))),
  ok("Ollama", "ends without a line break", stream(say("Hi."), done().trimEnd())),
  ok(
    "proxies",
    "send several lines at once, and empty ones",
    stream(`${say("H")}\r\n\n${say("i.")}${done()}`),
  ),
  {
    ...ok(
      "every proxy",
      "splits a character across pieces",
      stream(...bytesOf(`${say("Grüße 🎉")}${done()}`)),
    ),
    prints: "Grüße 🎉",
  },
  ok("proxies", "name the stream JSON", {
    headers: { "content-type": "application/json" },
    body: [say("H"), say("i."), done()],
  }),
  ok(
    "proxies",
    "send one complete answer although a stream was requested",
    json(200, { message: { content: "Hi." }, done: true }),
  ),
  ok("Ollama", "calls a tool, without an id", stream(message({ tool_calls: [LS] }), done()), fine),
  {
    ...ok("Ollama", "calls two tools at once", stream(message({ tool_calls: [LS, LS] }), done()), fine),
    calls: 2,
  },
  ok(
    "proxies of Ollama",
    "send arguments as text",
    stream(
      message({ tool_calls: [{ function: { name: "terminal", arguments: '{"command":"ls"}' } }] }),
      done(),
    ),
    fine,
  ),
  ok("Ollama", "gives an empty answer, once", stream(done()), fine),
  ok("Ollama", "only loads the model, once", stream(done({ done_reason: "load" })), fine),
  ok(
    "Ollama",
    "stops in the middle of the text, once",
    stream(say("H"), line({ error: "llama runner process has terminated: exit status 2" })),
    fine,
  ),
  ok(
    "every provider",
    "loses the connection in the middle of the text, once",
    { ...stream(say("H")), ends: "reset" },
    fine,
  ),
  ok("Ollama", "goes silent while it loads the model, once", { unanswered: "hang" }, fine),
  failed(
    "every provider",
    "ends the stream in the middle of the text, every time",
    "{provider} ended its answer early.",
    stream(say("H")),
    4,
  ),
  failed(
    "every gateway",
    "sends a line that is not JSON",
    "{provider} sent a response that could not be parsed.",
    stream(say("H"), "{oops\n"),
    4,
  ),
  ok(
    "every model with an output limit",
    "is cut off in the middle of its text, once",
    stream(say("H"), done({ done_reason: "length" })),
    stream(say("i."), done()),
  ),
  failed(
    "Ollama",
    "does not have the model",
    "{provider} does not know the model or the address (404): model 'm' not found",
    json(404, { error: "model 'm' not found" }),
  ),
  failed(
    "Ollama",
    "has a model that cannot use tools",
    "{provider} refused the request (400): registry.ollama.ai/library/m does not support tools",
    json(400, { error: "registry.ollama.ai/library/m does not support tools" }),
  ),
  ok(
    "Ollama",
    "is busy, once",
    json(503, { error: "server busy, please try again.  maximum pending requests exceeded" }),
    fine,
  ),
];

export const OLLAMA_ROWS: readonly HostileRow[] = ROWS.map((row) => ({ format: "ollama", ...row }));
