import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errnoOf, messageOf } from "../../../lib/errors.ts";
import { PlatformFailure } from "../../platform.ts";

/** A posted request, read completely. */
export interface PostedRequest {
  readonly path: string;
  readonly body: Uint8Array;
  header(name: string): string | undefined;
}

export interface PostedAnswer {
  readonly status: number;
  /** The words of an error, or of a success. */
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
}

export interface WebhookListener extends AsyncDisposable {
  /** Resolves if the listener fails later; never rejects. */
  readonly failed: Promise<PlatformFailure>;
}

const MAX_CONNECTIONS = 200;
const REQUEST_WITHIN_MS = 30_000;
const HEADERS_WITHIN_MS = 10_000;

/**
 * Listens for requests: POST goes to `handle`, GET /health answers that the listener works. Slow senders are cut off and long
 * bodies refused before they fill the memory. Rejects with a `PlatformFailure`.
 */
export async function openWebhookListener(
  address: { readonly host: string; readonly port: number; readonly maxBodyBytes: number },
  handle: (request: PostedRequest) => Promise<PostedAnswer>,
): Promise<WebhookListener> {
  const { host, port, maxBodyBytes } = address;
  const server = createServer({ requestTimeout: REQUEST_WITHIN_MS, headersTimeout: HEADERS_WITHIN_MS });
  server.maxConnections = MAX_CONNECTIONS;
  server.on("request", (request, response) => {
    answerRequest(request, maxBodyBytes, handle).then(
      (answer) => reply(response, answer),
      () => response.destroy(), // the sender has closed the connection
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(listenFailure(error, host, port)));
    server.listen(port, host, resolve);
  });
  const failed = new Promise<PlatformFailure>((resolve) => {
    server.on("error", (error) => resolve(new PlatformFailure("unreachable", messageOf(error))));
  });
  return {
    failed,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      setTimeout(() => server.closeAllConnections(), 1_000).unref();
      await closed;
    },
  };
}

function listenFailure(error: unknown, host: string, port: number): PlatformFailure {
  const where = `${host}:${port}`;
  switch (errnoOf(error)) {
    case "EADDRINUSE":
      return new PlatformFailure("unreachable", `another process listens on ${where}`, { cause: error });
    case "EACCES":
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new PlatformFailure("misconfigured", `cannot listen on ${where}: ${messageOf(error)}`, {
        cause: error,
      });
    default:
      return new PlatformFailure("unreachable", `cannot listen on ${where}: ${messageOf(error)}`, {
        cause: error,
      });
  }
}

async function answerRequest(
  request: IncomingMessage,
  maxBodyBytes: number,
  handle: (request: PostedRequest) => Promise<PostedAnswer>,
): Promise<PostedAnswer> {
  const path = (request.url ?? "/").replace(/\?.*$/s, "");
  if (request.method === "GET" && path === "/health") return { status: 200, message: "ok" };
  if (request.method !== "POST") return { status: 405, message: "only POST is accepted" };
  const body = await readBody(request, maxBodyBytes);
  if (body === undefined) return { status: 413, message: `the body is larger than ${maxBodyBytes} bytes` };
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  return await handle({ path, body, header });
}

/** Undefined for a body that is too large. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, { status, message, retryAfterSeconds }: PostedAnswer): void {
  const body = JSON.stringify(status < 400 ? { status: message } : { error: message });
  response.writeHead(status, {
    "content-type": "application/json",
    "x-content-type-options": "nosniff",
    // The rest of an unread body would be parsed as the next request.
    ...((status === 413 || status === 405) && { connection: "close" }),
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  });
  response.end(body);
}
