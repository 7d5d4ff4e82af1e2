import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fillIn, type Line, pickAnswer } from "../../src/providers/scripted/pick-answer.ts";
import { parseScript, type ScriptedAnswer, type ScriptInput } from "../../src/providers/scripted/script.ts";
import { type AnswerView, anthropicEvents, chatEvents } from "./scripted-events.ts";
import type { TlsIdentity } from "./tls-identity.ts";

/** What a server does instead of answering properly. */
export type Misbehaviour =
  | {
      readonly type: "answer";
      readonly status: number;
      readonly body: string;
      readonly headers?: Record<string, string>;
    }
  /** Goes silent: before the headers, after them, or after so many events. */
  | { readonly type: "hang"; readonly after: "nothing" | "headers" | number }
  /** Ends the answer after so many events: properly, or by breaking the connection. */
  | { readonly type: "cut"; readonly after: number; readonly how: "end" | "destroy" }
  /** Sends all of the answer, but ends it only after so long. */
  | { readonly type: "linger"; readonly ms: number }
  /** Sends this event after so many others. */
  | { readonly type: "event"; readonly after: number; readonly payload: unknown };

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: WireBody;
  /** `process.hrtime.bigint()` when the last byte of the request was there. */
  readonly arrivedAt: bigint;
  /** The same when the last byte of the answer had been handed to the connection. */
  answeredAt: bigint | undefined;
  /** Number of the connection that it came on, counted from 1. */
  readonly connection: number;
  /** Whether the client has closed the connection before the answer was whole. */
  closedEarly: boolean;
}

interface WireBody {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [key: string]: unknown;
}

export interface ScriptedServer extends AsyncDisposable {
  /** Without a path: chat completions are below /v1, and so are Anthropic's messages. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

export interface ScriptedServerOptions {
  /** Decides for each request, counted from 0, what to do instead. */
  misbehave?(index: number): Misbehaviour | undefined;
  /** Makes it one that is reached by TLS. */
  readonly tls?: TlsIdentity;
  /** The address that it listens on, IPv4 unless told otherwise. */
  readonly host?: string;
}

/** A model server on loopback that follows a script, in both wire formats, and notes what it is asked. */
export async function startScriptedServer(
  input: ScriptInput,
  { misbehave = () => undefined, tls, host = "127.0.0.1" }: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const script = parseScript(input, "of the server");
  const requests: RecordedRequest[] = [];
  const connections = new Map<object, number>();

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
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
    const wrong = misbehave(requests.length);
    requests.push(recorded);

    if (wrong?.type === "answer") {
      response
        .writeHead(wrong.status, { "content-type": "application/json", ...wrong.headers })
        .end(wrong.body);
      return;
    }
    if (wrong?.type === "hang" && wrong.after === "nothing") return;
    const { answer, number } = pickAnswer(script, body.messages.map(toLine));
    if (answer === undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `no answer number ${number}`, type: "script" } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.flushHeaders();
    const events = path.endsWith("/messages") ? anthropicEvents : chatEvents;
    let sent = 0;
    const job = (): string =>
      JSON.stringify(body)
        .match(/proc_[0-9a-f]{12}/g)
        ?.at(-1) ?? "";
    for (const event of events(viewOf(answer, { number, job }, requests.length))) {
      if (wrong?.type === "hang" && (typeof wrong.after !== "number" || sent >= wrong.after)) return;
      if (wrong?.type === "cut" && sent >= wrong.after) {
        // What is already under way arrives before the connection breaks.
        if (wrong.how === "destroy") setTimeout(() => response.destroy(), 100);
        else response.end();
        return;
      }
      if (wrong?.type === "event" && sent === wrong.after)
        response.write(`data: ${JSON.stringify(wrong.payload)}\n\n`);
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
  server.keepAliveTimeout = 600_000; // a client that is slow finds its connection again
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

/** In a text, `{n}` stands for the number of the answer, and `{job}` for the process that the conversation named last. */
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
    reasoning: cut(fillIn(answer.reasoning, number)),
    text: cut(fillIn(answer.text, number)),
    calls: answer.tools.map(({ name, input }, index) => ({
      id: `call_${requestNumber}_${index}`,
      name,
      input: cut(
        fillIn(typeof input === "string" ? input : JSON.stringify(input), number).replaceAll("{job}", job),
      ),
    })),
    finish: answer.finish ?? (answer.tools.length > 0 ? "tool-calls" : "stop"),
    usage: answer.usage,
  };
}

function toLine({ role, content }: WireBody["messages"][number]): Line {
  const blocks = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : [];
  const text = typeof content === "string" ? content : blocks.map((block) => block.text ?? "").join("");
  // Anthropic has results, and notes after them, in user messages.
  const isResult = blocks.some(({ type }) => type === "tool_result");
  return { role: isResult ? "tool" : (role as Line["role"]), text, isSteer: false };
}
