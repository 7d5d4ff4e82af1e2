import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { openDeadline } from "../../lib/time/deadline.ts";
import { PlatformFailure } from "../platform.ts";

export type SocketAddress =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly isEncrypted: boolean };

/** A connection on which both sides send lines of text. */
export interface LineSocket extends Disposable {
  /** Queues a line; false once the connection has ended. */
  write(line: string): boolean;
  /** The received lines, without line ends. The next line is read after the previous one was handled. */
  readonly lines: AsyncIterable<string>;
}

const CONNECT_WITHIN_MS = 30_000;
const MAX_WAITING_BYTES = 1_000_000;

/** Connects; rejects with a `PlatformFailure`. A line longer than `maxLineBytes` ends the connection. */
export async function openLineSocket(
  address: SocketAddress,
  maxLineBytes: number,
  signal: AbortSignal,
): Promise<LineSocket> {
  const socket = await connect(address, signal);
  socket.on("error", () => undefined); // the lines end, which says enough
  return {
    lines: readLines(socket, maxLineBytes),
    write(line) {
      // A peer that does not read must not fill our memory.
      if (socket.writableLength > MAX_WAITING_BYTES) socket.destroy();
      if (socket.destroyed || !socket.writable) return false;
      socket.write(`${line}\r\n`);
      return true;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

async function connect(address: SocketAddress, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  using deadline = openDeadline(signal, CONNECT_WITHIN_MS);
  const within = deadline.signal;
  const socket =
    "path" in address
      ? connectTcp(address.path)
      : address.isEncrypted
        ? connectTls({ host: address.host, port: address.port, servername: address.host })
        : connectTcp(address.port, address.host);
  const isEncrypted = "host" in address && address.isEncrypted;
  try {
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(within.reason);
      within.addEventListener("abort", abort, { once: true });
      socket.once(isEncrypted ? "secureConnect" : "connect", () => {
        within.removeEventListener("abort", abort);
        resolve();
      });
      socket.once("error", reject);
      socket.once("close", () => reject(new Error("the connection was closed")));
    });
    return socket;
  } catch (cause) {
    socket.on("error", () => undefined);
    socket.destroy();
    signal.throwIfAborted();
    const where = "path" in address ? address.path : `${address.host}:${address.port}`;
    throw new PlatformFailure("unreachable", `${where}: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

async function* readLines(socket: Socket, maxLineBytes: number): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        const line = rest.subarray(0, end).toString("utf8").replace(/\r$/, "");
        rest = rest.subarray(end + 1);
        yield line;
      }
      if (rest.length > maxLineBytes) return;
    }
  } catch {
    // A connection reset ends the lines like a normal end.
  } finally {
    socket.destroy();
  }
}
