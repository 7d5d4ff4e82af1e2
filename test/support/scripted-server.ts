import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fillTemplate, type MessageSummary, pickAnswer } from "../../src/providers/scripted/pick-answer.ts";
import { parseScript, type ScriptedAnswer, type ScriptInput } from "../../src/providers/scripted/script.ts";
import { findGoogleProblem } from "./google-request-rules.ts";
import { type AnswerView, anthropicEvents, chatEvents } from "./scripted-events.ts";
import { googleEvents } from "./scripted-google-events.ts";
import { ollamaEvents } from "./scripted-ollama-events.ts";
import { responsesEvents } from "./scripted-responses-events.ts";
import type { TlsIdentity } from "./tls-identity.ts";
import { messagesIn, type WireMessage } from "./wire-messages.ts";

/** A way in which a server misbehaves. */
export type Misbehaviour =
  | {
      readonly type: "answer";
      readonly status: number;
      readonly body: string;
      readonly headers?: Record<string, string>;
    }
  /** Goes silent: before the headers, after them, or after a number of events. */
  | { readonly type: "hang"; readonly after: "nothing" | "headers" | number }
  /** Ends the answer after a number of events, properly or by breaking the connection. */
  | { readonly type: "cut"; readonly after: number; readonly how: "end" | "destroy" }
  /** Sends the whole answer, but ends it only after `ms`. */
  | { readonly type: "linger"; readonly ms: number }
  /** Sends this event after a number of others. */
  | { readonly type: "event"; readonly after: number; readonly payload: unknown };

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: WireBody;
  /** `process.hrtime.bigint()` when the last byte of the request had arrived. */
  readonly arrivedAt: bigint;
  /** The same when the last byte of the answer had been passed to the connection. */
  answeredAt: bigint | undefined;
  /** Number of its connection, counted from 1. */
  readonly connection: number;
  /** Whether the client closed the connection before the answer was complete. */
  closedEarly: boolean;
}

interface WireBody {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [key: string]: unknown;
}

export interface ScriptedServer extends AsyncDisposable {
  /** Without a path: all formats are below /v1. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

export interface ScriptedServerOptions {
  /** Returns the misbehaviour for each request, counted from 0. */
  misbehave?(index: number, request: RecordedRequest): Misbehaviour | undefined;
  /** Makes the server use TLS. */
  readonly tls?: TlsIdentity;
  /** The address that it listens on; IPv4 by default. */
  readonly host?: string;
  /** The models that it lists; without them, it has no list. */
  readonly models?: readonly string[];
}

/** A model server on loopback that follows a script, in every wire format, and records its requests. */
export async function startScriptedServer(
  input: ScriptInput,
  { misbehave = () => undefined, tls, host = "127.0.0.1", models }: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const script = parseScript(input, "of the server");
  const requests: RecordedRequest[] = [];
  const connections = new Map<object, number>();

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === "GET") {
      const isList = models !== undefined && request.url === "/v1/models";
      const data = models?.map((id) => ({ id, context_length: 128_000 }));
      return void response.writeHead(isList ? 200 : 404).end(isList ? JSON.stringify({ data }) : "");
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const arrivedAt = process.hrtime.bigint();
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as WireBody;
    const { headers, url: path = "", socket } = request;
    const connection = connections.get(socket) ?? connections.size + 1;
    connections.set(socket, connection);
    const recorded: RecordedRequest = {
      path,
      headers,
      body,
      arrivedAt,
      answeredAt: undefined,
      connection,
      closedEarly: false,
    };
    response.on("close", () => {
      recorded.closedEarly = !response.writableFinished;
    });
    const wrong = misbehave(requests.length, recorded);
    requests.push(recorded);

    if (wrong?.type === "answer") {
      response
        .writeHead(wrong.status, { "content-type": "application/json", ...wrong.headers })
        .end(wrong.body);
      return;
    }
    if (wrong?.type === "hang" && wrong.after === "nothing") return;
    const problem = path.includes(GOOGLE_METHOD) ? findGoogleProblem(request, body) : undefined;
    if (problem !== undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: 400, message: problem, status: "INVALID_ARGUMENT" } }));
      return;
    }
    const { answer, number } = pickAnswer(script, messagesIn(body).map(toLine));
    if (answer === undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `no answer number ${number}`, type: "script" } }));
      return;
    }
    const isLines = isOllama(path);
    const contentType = isLines ? "application/x-ndjson" : "text/event-stream";
    response.writeHead(200, { "content-type": contentType, "cache-control": "no-cache" });
    response.flushHeaders();
    const events = eventsOf(path);
    let sent = 0;
    const job = (): string =>
      JSON.stringify(body)
        .match(/proc_[0-9a-f]{12}/g)
        ?.at(-1) ?? "";
    for (const event of events(viewOf(answer, { number, job }, requests.length))) {
      if (wrong?.type === "hang" && (typeof wrong.after !== "number" || sent >= wrong.after)) return;
      if (wrong?.type === "cut" && sent >= wrong.after) {
        // Data that was already sent arrives before the connection breaks.
        if (wrong.how === "destroy") setTimeout(() => response.destroy(), 100);
        else response.end();
        return;
      }
      if (wrong?.type === "event" && sent === wrong.after)
        response.write(`${isLines ? "" : "data: "}${JSON.stringify(wrong.payload)}\n\n`);
      if (answer.delay_ms > 0) await new Promise((resolve) => setTimeout(resolve, answer.delay_ms));
      response.write(event);
      sent++;
    }
    if (wrong?.type === "linger") await new Promise((resolve) => setTimeout(resolve, wrong.ms));
    response.end();
    recorded.answeredAt = process.hrtime.bigint();
  };

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.keepAliveTimeout = 600_000; // a slow client finds its connection still open
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http${tls === undefined ? "" : "s"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** In a text, `{n}` is replaced by the number of the answer, and `{job}` by the last job id in the conversation. */
function viewOf(
  answer: ScriptedAnswer,
  { number, job }: { readonly number: number; job(): string },
  requestNumber: number,
): AnswerView {
  const cut = (text: string) =>
    Array.from({ length: Math.ceil(text.length / answer.chunk) }, (_, index) =>
      text.slice(index * answer.chunk, (index + 1) * answer.chunk),
    );
  return {
    reasoning: cut(fillTemplate(answer.reasoning, number)),
    text: cut(fillTemplate(answer.text, number)),
    calls: answer.tools.map(({ name, input }, index) => ({
      id: `call_${requestNumber}_${index}`,
      name,
      input: cut(
        fillTemplate(typeof input === "string" ? input : JSON.stringify(input), number).replaceAll(
          "{job}",
          job,
        ),
      ),
    })),
    finish: answer.finish ?? (answer.tools.length > 0 ? "tool-calls" : "stop"),
    usage: answer.usage,
  };
}

const GOOGLE_METHOD = ":streamGenerateContent";

function isOllama(path: string): boolean {
  return /\/api\/chat(?:\?|$)/.test(path);
}

/** The format of an answer, by the path of its request. */
function eventsOf(path: string): (answer: AnswerView) => Generator<string> {
  if (path.endsWith("/messages")) return anthropicEvents;
  if (path.includes(GOOGLE_METHOD)) return googleEvents;
  if (isOllama(path)) return ollamaEvents;
  return /\/responses(?:\?|$)/.test(path) ? responsesEvents : chatEvents;
}

function toLine({ role, content }: WireMessage): MessageSummary {
  const blocks = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : [];
  const text = typeof content === "string" ? content : blocks.map((block) => block.text ?? "").join("");
  // In Anthropic's format, user messages contain results and the notes after them.
  const isResult = blocks.some(({ type }) => type === "tool_result");
  return { role: isResult ? "tool" : (role as MessageSummary["role"]), text, isSteer: false };
}
