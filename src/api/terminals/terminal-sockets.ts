import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Audit } from "../access/audit.ts";
import type { Client, ReadClient } from "../access/client.ts";
import type { SignIn } from "../access/sign-in-store.ts";
import { type TerminalNotice, terminalRequestSchema } from "../contract/machines/terminals.ts";
import { CLOSE } from "./close-codes.ts";
import type { Attachment, Viewer } from "./terminal.ts";
import type { Terminals } from "./terminals.ts";

/** The largest frame of a page; a longer paste is sent in several. */
const MAX_INPUT_BYTES = 64 * 1024;
/** A page that does not answer a ping until the next one is gone. */
const PING_EVERY_MS = 20_000;

export interface TerminalSocketParts {
  readonly terminals: Terminals;
  readonly audit: Audit;
  readClient: ReadClient;
  /** The sign-in of the cookie. */
  findSignIn(cookie: string | null, client: Client): SignIn | undefined;
  /** Whether a sign-in has not ended. */
  isSignedIn(signIn: string): boolean;
}

/** Connects pages to terminals, over the sockets of `/api/terminals/ID?ticket=…`. */
export interface TerminalSockets extends Disposable {
  /** Handles a request to upgrade a connection. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes the sockets of a sign-in that has ended. */
  disconnect(signIn: string): void;
}

export function openTerminalSockets(parts: TerminalSocketParts): TerminalSockets {
  const { terminals, audit, readClient, findSignIn, isSignedIn } = parts;
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, maxPayload: MAX_INPUT_BYTES, perMessageDeflate: false },
  });
  const open = new Map<WebSocket, { readonly signIn: string; isAlive: boolean }>();
  const beat = setInterval(() => {
    for (const [socket, state] of open) {
      if (!isSignedIn(state.signIn)) socket.close(CLOSE.ticket);
      if (!state.isAlive) socket.terminate();
      state.isAlive = false;
      socket.ping();
    }
  }, PING_EVERY_MS).unref();

  /** The reason to refuse the request; else attaches the page. */
  const connect = (
    request: IncomingMessage,
    client: Client,
    id: string,
    ticket: string,
    socket: WebSocket,
  ) => {
    const signIn = findSignIn(request.headers.cookie ?? null, client);
    const refuse = (code: number, detail: string): void => {
      audit.write({
        ...{ action: "open terminal", outcome: "refused", detail, address: client.address },
        login: signIn?.name,
      });
      socket.close(code);
    };
    if (!client.isOwnPage || request.headers.origin === undefined)
      return refuse(CLOSE.origin, "origin-foreign");
    if (signIn === undefined || !signIn.scopes.includes("shell"))
      return refuse(CLOSE.ticket, "ticket-invalid");
    const attachment = terminals.attach({ id, ticket, signIn: signIn.id }, viewerOf(socket));
    if (attachment === undefined) return refuse(CLOSE.ticket, "ticket-invalid");
    open.set(socket, { signIn: signIn.id, isAlive: true });
    listen(socket, attachment, {
      isAllowed: () => isSignedIn(signIn.id),
      onClose: () => open.delete(socket),
    });
    socket.on("pong", () => {
      const state = open.get(socket);
      if (state !== undefined) state.isAlive = true;
    });
  };

  return {
    upgrade(request, socket, head) {
      const client = readClient(request);
      if (client === undefined) return refuseUpgrade(socket, "400 Bad Request");
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://host");
      const path = pathname.startsWith(`${client.prefix}/`) ? pathname.slice(client.prefix.length) : pathname;
      const [, id] = /^\/api\/terminals\/([0-9a-f-]{36})$/.exec(path) ?? [];
      if (id === undefined) return refuseUpgrade(socket, "404 Not Found");
      server.handleUpgrade(request, socket, head, (accepted) => {
        accepted.on("error", () => accepted.terminate()); // a frame that is too long, or a lost connection
        connect(request, client, id, searchParams.get("ticket") ?? "", accepted);
      });
    },
    disconnect(signIn) {
      for (const [socket, state] of open) if (state.signIn === signIn) socket.close(CLOSE.ticket);
    },
    [Symbol.dispose]() {
      clearInterval(beat);
      for (const socket of open.keys()) socket.terminate();
    },
  };
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.on("error", () => undefined);
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function viewerOf(socket: WebSocket): Viewer {
  const tell = (notice: TerminalNotice): void => socket.send(JSON.stringify(notice));
  return {
    onScreen: (columns, rows) => tell({ type: "screen", columns, rows }),
    onOutput: (bytes) => socket.send(bytes),
    onExit: (code) => tell({ type: "exit", code }),
    onDetached: (why) =>
      socket.close({ "taken-over": CLOSE.takenOver, slow: CLOSE.slow, closed: CLOSE.ended }[why]),
  };
}

interface Listening {
  isAllowed(): boolean;
  onClose(): void;
}

function listen(socket: WebSocket, attachment: Attachment, { isAllowed, onClose }: Listening): void {
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isAllowed()) return socket.close(CLOSE.ticket);
    if (isBinary) return attachment.write(data);
    const request = parseRequest(data);
    if (request === undefined) return socket.close(1008);
    if (request.type === "resize") attachment.resize(request.columns, request.rows);
    else attachment.markRead(request.bytes);
  });
  socket.on("close", () => {
    onClose();
    attachment.detach();
  });
}

function parseRequest(data: Buffer) {
  try {
    return terminalRequestSchema.safeParse(JSON.parse(data.toString())).data;
  } catch {
    return undefined; // not JSON
  }
}
