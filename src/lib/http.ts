import type { RequestInit as PlainInit } from "undici";
import { AppError } from "./errors.ts";
import type { HttpAnswer, HttpRequest } from "./http-exchange.ts";
import { httpFailure } from "./http-failure.ts";
import {
  type ConnectionSettings,
  type HttpTransport,
  openHttpTransport,
  type ProxySettings,
} from "./http-transport.ts";

export interface FetchSettings extends ConnectionSettings {
  /** Name of the setting for a CA file, for the advice when a certificate is not trusted. */
  readonly caKey?: string | undefined;
}

/** `fetch` with connections of its own, which end when it is disposed of. */
export interface Fetch extends AsyncDisposable {
  (...args: Parameters<typeof globalThis.fetch>): Promise<Response>;
  /** Loads what requests need, so that the first one does not wait for it; a failure is told by that request. */
  prepare(): void;
  /** A request whose answer is read as it comes, on the same connections and with the same failures. */
  exchange(address: string | URL, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
}

/** Picks the proxy variables: lower case before upper case, ALL_PROXY for what has none of its own, empty means unset. */
export function proxySettings(env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const pick = (name: string) => env[name] || env[name.toUpperCase()] || undefined;
  return {
    httpProxy: pick("http_proxy") ?? pick("all_proxy"),
    httpsProxy: pick("https_proxy") ?? pick("all_proxy"),
    noProxy: pick("no_proxy"),
  };
}

/** Files of certificate authorities: of a setting and of the environment. Node reads its own variable only without these. */
export function caFilesOf(
  setting: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const isFile = (file: string | undefined): file is string => file !== undefined && file !== "";
  const files = [setting, env["SSL_CERT_FILE"]].filter(isFile);
  return files.length === 0 ? [] : [...files, env["NODE_EXTRA_CA_CERTS"]].filter(isFile);
}

/**
 * A `fetch` that goes through the proxies and trusts the certificates that it is told of, and looks at nothing else.
 * Until the answer's headers are there, a failure of the connection is an `http-failed`, an abort is the signal's
 * reason. Its responses behave as those of the global `fetch`, but are not instances of the global `Response`.
 */
export function createFetch(settings: FetchSettings): Fetch {
  let opening: Promise<HttpTransport> | undefined;
  let disposed = false;

  function open(): Promise<HttpTransport> {
    if (disposed) throw new Error("fetch was called after it was disposed of");
    opening ??= openHttpTransport(settings).catch((error: unknown) => {
      opening = undefined; // the CA file may be repaired before the next call
      throw error;
    });
    return opening;
  }
  const failureOf = (error: unknown, url: URL, transport: HttpTransport): AppError =>
    httpFailure(error, { host: url.host, proxyHost: transport.proxyHostFor(url), caKey: settings.caKey });

  async function send(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const signal = init.signal ?? (isRequest(input) ? input.signal : undefined);
    signal?.throwIfAborted();
    const transport = await open();
    const request = await plainRequest(input, init);
    try {
      return await transport.fetch(request.url, request.init);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof TypeError) || error.cause === undefined) throw error;
      throw failureOf(error, request.url, transport);
    }
  }

  return Object.assign(send, {
    prepare(): void {
      open().catch(() => undefined);
    },
    async exchange(address: string | URL, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
      signal.throwIfAborted();
      const transport = await open();
      const url = parseAddress(address);
      try {
        return await transport.exchange(url, request, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof AppError ? error : failureOf(error, url, transport);
      }
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      // One that never opened has nothing to close.
      const transport = await opening?.catch(() => undefined);
      await transport?.[Symbol.asyncDispose]();
    },
  });
}

/** The request in classes that every implementation of `fetch` knows: Node's own `Request` and `FormData` are not. */
async function plainRequest(
  input: string | URL | Request,
  init: RequestInit,
): Promise<{ readonly url: URL; readonly init: PlainInit }> {
  const url = parseAddress(isRequest(input) ? input.url : input);
  const hasForm = Object.prototype.toString.call(init.body) === "[object FormData]";
  // The same interface as described by two packages.
  if (!isRequest(input) && !hasForm) return { url, init: init as unknown as PlainInit };
  const request = new Request(input, init);
  const { method, redirect, signal } = request;
  const body = request.body === null ? null : await request.arrayBuffer();
  return { url, init: { method, headers: [...request.headers], redirect, signal, body } };
}

function isRequest(input: string | URL | Request): input is Request {
  return typeof input !== "string" && !(input instanceof URL);
}

/** Refuses what `fetch` would refuse with the whole address, and the secrets in it, in the message. */
function parseAddress(input: string | URL): URL {
  if (!URL.canParse(String(input)))
    throw new AppError("http-failed", "The address of a request is not a URL.");
  const url = new URL(input);
  if (url.username === "" && url.password === "") return url;
  throw new AppError("http-failed", `The address for ${url.host} carries a user name or password.`, {
    hint: "Hand credentials over in a header.",
  });
}
