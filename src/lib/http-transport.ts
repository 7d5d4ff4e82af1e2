import { setMaxListeners } from "node:events";
import { createSecureContext } from "node:tls";
import type { Dispatcher, Pool } from "undici";
import { loadAuthorities } from "./authorities.ts";
import { AppError, errnoOf, messageOf } from "./errors.ts";
import { exchange, type HttpAnswer, type HttpRequest } from "./http-exchange.ts";
import { parseNoProxy } from "./no-proxy.ts";

export interface ProxySettings {
  /** Proxy for http addresses. */
  readonly httpProxy?: string | undefined;
  /** Proxy for https addresses. */
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

type Tunnel = Dispatcher.ConnectData<unknown>;

/** Connections to other hosts, direct and through proxies, that end with it. */
export interface HttpTransport extends AsyncDisposable {
  exchange(url: URL, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  proxyHostFor(url: URL): string | undefined;
}

export interface ConnectionSettings {
  readonly proxy: ProxySettings;
  /** PEM files of certificate authorities that are trusted beside those of Node. */
  readonly caFiles?: readonly string[];
  /** Whether certificates are checked at all; they are unless this says otherwise. */
  readonly verifiesTls?: boolean;
  /** How long making a connection may take. */
  readonly connectTimeoutMs?: number | undefined;
}

/** Opens the way to other hosts; no connection is made until the first request. */
export async function openHttpTransport(settings: ConnectionSettings): Promise<HttpTransport> {
  const { proxy, caFiles = [], verifiesTls = true, connectTimeoutMs } = settings;
  // Only here, so that a program that sends nothing does not pay for it; by its default export, because in a bundle a
  // CommonJS package has no other.
  const { default: undici } = await import("undici");
  // A connection that is still being made is known to nobody else, and would keep the program from ending.
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  // One context for all connections: reading some 150 authorities anew for each would cost as much as its handshake.
  const tls = {
    signal: over.signal,
    ...(caFiles.length > 0 && { secureContext: createSecureContext({ ca: await loadAuthorities(caFiles) }) }),
    ...(!verifiesTls && { rejectUnauthorized: false }),
    ...(connectTimeoutMs !== undefined && { timeout: connectTimeoutMs }),
  };
  // How long an answer may take is for the caller to say, by its signal: some models think for a quarter of an hour.
  const patience = { headersTimeout: 0, bodyTimeout: 0 };
  const direct = new undici.Agent({ connect: tls, ...patience });
  const openProxy = (value: string | undefined) => {
    if (!value) return undefined;
    const { url, token } = parseProxy(value);
    const agent = new undici.ProxyAgent({
      uri: url.href,
      ...patience,
      ...(token === undefined ? {} : { token }),
      requestTls: tls,
      proxyTls: tls,
      clientFactory: (origin, options) => openTunnels(new undici.Pool(origin, options)),
      proxyTunnel: false, // for http addresses: many proxies allow CONNECT to port 443 only
    });
    return { host: url.host, agent };
  };
  const byProtocol: Readonly<Record<string, ReturnType<typeof openProxy>>> = {
    "http:": openProxy(proxy.httpProxy),
    "https:": openProxy(proxy.httpsProxy),
  };
  const goesDirectly = parseNoProxy(proxy.noProxy ?? "");
  const proxyFor = (url: URL) => (goesDirectly(url) ? undefined : byProtocol[url.protocol]);
  return {
    exchange: (url, request, signal) =>
      exchange(proxyFor(url)?.agent ?? direct, url, request, signal).catch((error: unknown) => {
        const isHeader = errnoOf(error) === "UND_ERR_INVALID_ARG" && /header/i.test(messageOf(error));
        throw isHeader ? badHeader(url) : error;
      }),
    proxyHostFor: (url) => proxyFor(url)?.host,
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all([direct.destroy(), ...Object.values(byProtocol).map((one) => one?.agent.destroy())]);
    },
  };
}

/**
 * A proxy that closes a tunnel before it is open has failed like others that cannot be reached: where the error says that a
 * socket was closed, the requests that wait for the tunnel would ask for another one, again and again.
 */
function openTunnels(pool: Pool): Pool {
  const connect = pool.connect.bind(pool) as (options: Dispatcher.ConnectOptions) => Promise<Tunnel>;
  const connectOnce = async (options: Dispatcher.ConnectOptions): Promise<Tunnel> => {
    try {
      return await connect(options);
    } catch (error) {
      if (!/^UND_ERR_(?:SOCKET|INFO)$/.test(errnoOf(error) ?? "")) throw error;
      throw Object.assign(new Error("the proxy closed the connection"), { code: "ERR_PROXY_CLOSED" });
    }
  };
  return Object.assign(pool, { connect: connectOnce });
}

/** In place of an error that may quote the header, which may be a key with a line break in it. */
function badHeader(url: URL): AppError {
  const message = `A header for ${url.host} holds characters that HTTP does not allow.`;
  return new AppError("http-failed", message, { hint: "Look for line breaks in keys and headers." });
}

/** A proxy's address without its credentials, and these as a header. */
function parseProxy(value: string): { url: URL; token: string | undefined } {
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    if (!/^https?:$/.test(url.protocol)) throw new TypeError("a kind of proxy that we do not speak to");
    const { username, password } = url;
    url.username = "";
    url.password = "";
    if (username === "") return { url, token: undefined };
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { url, token: `Basic ${Buffer.from(credentials).toString("base64")}` };
  } catch {
    // The error at hand quotes the value, credentials included.
    throw new AppError("http-failed", "The address of the proxy cannot be used.", {
      hint: "Write HTTPS_PROXY and HTTP_PROXY as http://host:port; percent-encode special characters of a password.",
    });
  }
}
