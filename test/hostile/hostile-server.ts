import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay, setImmediate as turnOfEventLoop } from "node:timers/promises";
import * as zlib from "node:zlib";
import { messagesIn, type WireMessage } from "../support/wire-messages.ts";
import type { Reply } from "./hostile-row.ts";

/** One client of the server, with its own address and replies. */
export interface HostileClient {
  readonly url: string;
  /** The messages of each request. */
  readonly requests: readonly (readonly WireMessage[])[];
}

export interface HostileServer extends AsyncDisposable {
  invite(name: string, replyTo: (index: number) => Reply): HostileClient;
}

const BREAK_AFTER_MS = 30; // by then the client has received everything written before
const { zstdCompressSync }: typeof zlib & { zstdCompressSync?: (data: Buffer) => Buffer } = zlib;

/** Whether this version of Node supports zstd. */
export const HAS_ZSTD = zstdCompressSync !== undefined;

/** Starts a server on loopback that gives each guest its own replies. */
export async function startHostileServer(): Promise<HostileServer> {
  const guests = new Map<string, { requests: (readonly WireMessage[])[]; replyTo(index: number): Reply }>();
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.keepAliveTimeout = 600_000; // on a busy machine, a pause between two requests must not close the connection
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const guest = guests.get(decodeURIComponent(request.url?.split("/")[1] ?? ""));
    if (guest === undefined) throw new Error(`no guest is registered for ${request.url}`);
    guest.requests.push(messagesIn(JSON.parse(body) as Record<string, unknown>));
    await answer(guest.replyTo(guest.requests.length - 1), request.socket, response);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    invite(name, replyTo) {
      const requests: (readonly WireMessage[])[] = [];
      guests.set(name, { requests, replyTo });
      return { url: `http://127.0.0.1:${port}/${encodeURIComponent(name)}/v1`, requests };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(reply: Reply, socket: Socket, response: ServerResponse): Promise<void> {
  const { status = 200, headers, body = [], encoding, ends = "properly", raw, unanswered } = reply;
  if (raw !== undefined) return void socket.end(raw);
  if (unanswered === "hang") return;
  if (unanswered === "reset") return void socket.resetAndDestroy();
  response.writeHead(status, {
    "content-type": "text/event-stream",
    ...headers,
    ...(encoding && { "content-encoding": encoding }),
  });
  for (const piece of encoding === undefined ? body : [encodeBody(encoding, body)]) {
    response.write(piece);
    await turnOfEventLoop();
  }
  response.flushHeaders();
  if (ends === "hang") return;
  if (ends === "properly") return void response.end();
  await delay(BREAK_AFTER_MS);
  if (ends === "reset") socket.resetAndDestroy();
  else socket.destroy();
}

function encodeBody(encoding: NonNullable<Reply["encoding"]>, body: NonNullable<Reply["body"]>): Buffer {
  const bytes = Buffer.concat(body.map((piece) => Buffer.from(piece)));
  switch (encoding) {
    case "gzip":
      return zlib.gzipSync(bytes);
    case "br":
      return zlib.brotliCompressSync(bytes);
    case "deflate":
      return zlib.deflateSync(bytes);
    case "zstd":
      return zstdCompressSync?.(bytes) ?? bytes;
  }
}
