import { once } from "node:events";
import type { Server } from "node:http";
import { AppError, type ErrorCode, errnoOf, messageOf } from "../lib/errors.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The error codes of a failure to listen. */
export interface ListenFailures {
  readonly taken: ErrorCode;
  readonly unbound: ErrorCode;
}

const HEADERS_WITHIN_MS = 10_000;
const BODY_WITHIN_MS = 60_000;

/** Limits for clients that send slowly. */
export const SERVER_LIMITS = { headersTimeout: HEADERS_WITHIN_MS, requestTimeout: BODY_WITHIN_MS };

/** Begins to take connections. Returns the port, which the system chooses for 0, and the address for people. */
export async function listen(
  server: Server,
  { host, port }: ListenAddress,
  failures: ListenFailures,
): Promise<{ readonly port: number; readonly url: string }> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    const at = `${host}:${port}`;
    if (errnoOf(error) === "EADDRINUSE")
      throw new AppError(failures.taken, `Another program already listens on ${at}.`, { cause: error });
    throw new AppError(failures.unbound, `The server cannot listen on ${at}: ${messageOf(error)}.`, {
      cause: error,
    });
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { port: address.port, url: `http://${name}:${address.port}` };
}
