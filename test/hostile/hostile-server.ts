import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay, setImmediate as turnOfEventLoop } from "node:timers/promises";
import * as zlib from "node:zlib";
import type { Reply } from "./hostile-row.ts";

export interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
  readonly function_call?: { readonly name: string };
  readonly name?: string;
}

/** One guest of the server: its own address, its own replies. */
export interface Guest {
  readonly url: string;
  /** The messages of each request. */
  readonly requests: readonly (readonly WireMessage[])[];
}

export interface HostileServer extends AsyncDisposable {
  invite(name: string, replyTo: (index: number) => Reply): Guest;
}

const BREAK_AFTER_MS = 30; // what was written before is on the other side by then
const { zstdCompressSync }: typeof zlib & { zstdCompressSync?: (data: Buffer) => Buffer } = zlib;

/** Whether this version of Node knows zstd. */
export const HAS_ZSTD = zstdCompressSync !== undefined;

/** A server on loopback that does to each of its guests what it is told. */
export async function startHostileServer(): Promise<HostileServer> {
  const guests = new Map<string, { requests: WireMessage[][]; replyTo(index: number): Reply }>();
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const guest = guests.get(decodeURIComponent(request.url?.split("/")[1] ?? ""));
    if (guest === undefined) throw new Error(`nobody invited ${request.url}`);
    guest.requests.push((JSON.parse(body) as { messages: WireMessage[] }).messages);
    await answer(guest.replyTo(guest.requests.length - 1), request.socket, response);
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    invite(name, replyTo) {
      const requests: WireMessage[][] = [];
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
  for (const piece of encoding === undefined ? body : [encoded(encoding, body)]) {
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

function encoded(encoding: NonNullable<Reply["encoding"]>, body: NonNullable<Reply["body"]>): Buffer {
  const whole = Buffer.concat(body.map((piece) => Buffer.from(piece)));
  switch (encoding) {
    case "gzip":
      return zlib.gzipSync(whole);
    case "br":
      return zlib.brotliCompressSync(whole);
    case "deflate":
      return zlib.deflateSync(whole);
    case "zstd":
      return zstdCompressSync?.(whole) ?? whole;
  }
}
