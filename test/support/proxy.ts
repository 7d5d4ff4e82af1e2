import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TlsIdentity } from "./tls-identity.ts";

export interface ProxyOptions {
  /** Makes the proxy itself use TLS. */
  readonly tls?: TlsIdentity;
  /** The `name:password` that the proxy requires. */
  readonly credentials?: string;
}

export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** The requests, one line each. */
  readonly log: readonly string[];
}

/** An HTTP proxy with tunnels that logs its requests and resolves every name to this machine. */
export async function startProxy({ tls, credentials }: ProxyOptions = {}): Promise<Proxy> {
  const log: string[] = [];
  const sockets = new Set<Socket>();
  const expected = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
  const admits = ({ headers }: IncomingMessage) =>
    expected === undefined || headers["proxy-authorization"] === expected;
  const forward: RequestListener = (incoming, response) => {
    log.push(`${incoming.method} ${incoming.url}`);
    if (!admits(incoming)) return void response.writeHead(407).end();
    const { port, pathname, search, host, hostname } = new URL(incoming.url ?? "");
    const { "proxy-authorization": _, ...headers } = { ...incoming.headers, host };
    const path = pathname + search;
    const target = { host: loopbackOf(hostname), port, path, method: incoming.method, headers };
    const upstream = request(target, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("error", () => response.destroy()).pipe(response);
    });
    response.on("close", () => upstream.destroy());
    incoming.pipe(upstream.on("error", () => response.destroy()));
  };
  const server = tls === undefined ? createServer(forward) : createTlsServer(tls, forward);
  server.on("connect", (incoming: IncomingMessage, socket: Socket) => {
    log.push(`CONNECT ${incoming.url}`);
    sockets.add(socket);
    if (!admits(incoming)) return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(incoming.url ?? "") ?? [];
    const upstream = connect(Number(port), loopbackOf(host), () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    log,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function loopbackOf(host: string): string {
  return host.includes(":") ? "::1" : "127.0.0.1";
}
