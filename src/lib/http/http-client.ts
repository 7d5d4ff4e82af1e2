import { lookup } from "node:dns";
import { setMaxListeners } from "node:events";
import { createSecureContext } from "node:tls";
import type { Dispatcher, Pool } from "undici";
import { AppError, errnoOf, messageOf } from "../errors.ts";
import { loadCertificateAuthorities } from "./certificate-authorities.ts";
import { exchange, type HttpRequest, type HttpResponse } from "./http-exchange.ts";
import { createHttpFailure } from "./http-failure.ts";
import { parseNoProxy } from "./no-proxy.ts";
import { type LookUpAddresses, onlyPublic, requirePublicHost } from "./public-address.ts";

export interface HttpSettings {
  readonly proxy: ProxySettings;
  /** PEM files of certificate authorities to trust in addition to those of Node. */
  readonly caFiles?: readonly string[];
  readonly verifiesTls?: boolean;
  readonly connectTimeoutMs?: number | undefined;
  /** Refuse hosts that are not on the public internet, for addresses that the user did not choose as a server. */
  readonly onlyPublic?: boolean;
  /** Resolves names where only public hosts are allowed; by default as the system does. */
  readonly lookUp?: LookUpAddresses | undefined;
  /** Name of the setting for a CA file, for the hint about an untrusted certificate. */
  readonly caKey?: string | undefined;
}

/** Sends requests to other hosts on its own connections. Disposing closes them. */
export interface HttpClient extends AsyncDisposable {
  /** Loads the transport in advance, so that the first request does not wait for it; that request reports a failure. */
  prepare(): void;
  /**
   * Sends a request and resolves with the headers of its response. Until then, a failed connection rejects with `http-failed`,
   * an abort with the signal's reason. Redirects are not followed.
   */
  exchange(address: string | URL, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
}

/** Reads the proxy variables: lower case before upper case, ALL_PROXY as fallback, empty means unset. */
export function readProxySettings(env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const pick = (name: string) => env[name] || env[name.toUpperCase()] || undefined;
  return {
    httpProxy: pick("http_proxy") ?? pick("all_proxy"),
    httpsProxy: pick("https_proxy") ?? pick("all_proxy"),
    noProxy: pick("no_proxy"),
  };
}

/** Lists the CA files of the setting and the environment. NODE_EXTRA_CA_CERTS is included, because our own CA list replaces Node's. */
export function listCaFiles(
  setting: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const isFile = (file: string | undefined): file is string => file !== undefined && file !== "";
  const files = [setting, env["SSL_CERT_FILE"]].filter(isFile);
  return files.length === 0 ? [] : [...files, env["NODE_EXTRA_CA_CERTS"]].filter(isFile);
}

/** Creates a client that uses only the given settings, not the proxy and certificate variables of the process. */
export function openHttpClient(settings: HttpSettings): HttpClient {
  let opening: ReturnType<typeof openHttpTransport> | undefined;
  let disposed = false;

  function open(): ReturnType<typeof openHttpTransport> {
    if (disposed) throw new Error("a request was made after the client was disposed of");
    opening ??= openHttpTransport(settings).catch((error: unknown) => {
      opening = undefined; // the CA file may be repaired before the next call
      throw error;
    });
    return opening;
  }

  return {
    prepare() {
      open().catch(() => undefined);
    },
    async exchange(address, request, signal) {
      signal.throwIfAborted();
      const transport = await open();
      const url = parseAddress(address);
      try {
        if (settings.onlyPublic) await requirePublicHost(url.hostname, settings.lookUp ?? lookup);
        return await transport.exchange(url, request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AppError) throw error;
        const proxyHost = transport.proxyHostFor(url);
        throw createHttpFailure(error, { host: url.host, proxyHost, caKey: settings.caKey });
      }
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      // A transport that failed to open has nothing to close.
      const transport = await opening?.catch(() => undefined);
      await transport?.[Symbol.asyncDispose]();
    },
  };
}

/** Refuses a URL with credentials, and never quotes it. */
function parseAddress(input: string | URL): URL {
  if (!URL.canParse(String(input)))
    throw new AppError("http-failed", "The address of a request is not a URL.");
  const url = new URL(input);
  if (url.username === "" && url.password === "") return url;
  throw new AppError("http-failed", `The address for ${url.host} carries a user name or password.`, {
    hint: "Send credentials in a header.",
  });
}

export interface ProxySettings {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

type Tunnel = Dispatcher.ConnectData<unknown>;

/** Opens connections to other hosts, direct and through proxies; the first request makes the first connection. */
async function openHttpTransport(settings: HttpSettings) {
  const { proxy, caFiles = [], verifiesTls = true, connectTimeoutMs } = settings;
  // Loaded here, so that a command that sends no request does not pay for it. Default export, because in a bundle a CommonJS
  // package has no other.
  const { default: undici } = await import("undici");
  // Aborts connections that are still being established: no other code can close them, and they would keep the process alive.
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  // One context for all connections: parsing about 150 authorities per connection would cost as much as the handshake.
  const tls = {
    signal: closing.signal,
    ...(caFiles.length > 0 && {
      secureContext: createSecureContext({ ca: await loadCertificateAuthorities(caFiles) }),
    }),
    ...(!verifiesTls && { rejectUnauthorized: false }),
    ...(connectTimeoutMs !== undefined && { timeout: connectTimeoutMs }),
  };
  // The caller limits the time of a request by its signal: some models think for 15 minutes.
  const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const direct = new undici.Agent({
    connect: { ...tls, ...(settings.onlyPublic && { lookup: onlyPublic(settings.lookUp ?? lookup) }) },
    ...noTimeouts,
  });
  const openProxy = (value: string | undefined) => {
    if (!value) return undefined;
    const { url, token } = parseProxy(value);
    const agent = new undici.ProxyAgent({
      uri: url.href,
      ...noTimeouts,
      ...(token === undefined ? {} : { token }),
      requestTls: tls,
      proxyTls: tls,
      clientFactory: (origin, options) => withoutTunnelRetries(new undici.Pool(origin, options)),
      proxyTunnel: false, // for http addresses: many proxies allow CONNECT to port 443 only
    });
    return { host: url.host, agent };
  };
  const bypassesProxy = parseNoProxy(proxy.noProxy ?? "");
  const opened = new Map<string, ReturnType<typeof openProxy>>();
  // Opened by the first request that needs it: an address for http that cannot be used must not affect https.
  const proxyFor = (url: URL) => {
    if (bypassesProxy(url)) return undefined;
    if (!opened.has(url.protocol))
      opened.set(url.protocol, openProxy(url.protocol === "http:" ? proxy.httpProxy : proxy.httpsProxy));
    return opened.get(url.protocol);
  };
  return {
    exchange: async (url: URL, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> =>
      exchange(proxyFor(url)?.agent ?? direct, url, request, signal).catch((error: unknown) => {
        const isHeader = errnoOf(error) === "UND_ERR_INVALID_ARG" && /header/i.test(messageOf(error));
        throw isHeader ? badHeader(url) : error;
      }),
    proxyHostFor: (url: URL) => proxyFor(url)?.host,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([direct.destroy(), ...[...opened.values()].map((one) => one?.agent.destroy())]);
    },
  };
}

/** The proxy for a URL, without credentials; undefined for a direct connection. */
export function findProxy(url: URL, { httpProxy, httpsProxy, noProxy }: ProxySettings): string | undefined {
  const value = url.protocol === "http:" ? httpProxy : httpsProxy;
  return value && !parseNoProxy(noProxy ?? "")(url) ? parseProxy(value).url.href : undefined;
}

/**
 * Turns the error of a proxy that closes the tunnel during CONNECT into one that undici does not retry: for a closed socket the
 * waiting requests would open another tunnel, endlessly.
 */
function withoutTunnelRetries(pool: Pool): Pool {
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

/** Replaces an error that may quote the header, which may contain a key. */
function badHeader(url: URL): AppError {
  const message = `A header for ${url.host} holds characters that HTTP does not allow.`;
  return new AppError("http-failed", message, {
    hint: "Remove line breaks and non-ASCII characters from keys and headers.",
  });
}

/** Splits the address of a proxy into its URL without credentials and the credentials as a header value. */
function parseProxy(value: string): { url: URL; token: string | undefined } {
  if (/^socks/i.test(value))
    throw new AppError(
      "http-failed",
      "The address of the proxy cannot be used: SOCKS proxies are not supported.",
      {
        hint: "Name an HTTP proxy in HTTPS_PROXY and HTTP_PROXY, as http://host:port, or the host in NO_PROXY.",
      },
    );
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
    if (!/^https?:$/.test(url.protocol)) throw new TypeError("unsupported proxy protocol");
    const { username, password } = url;
    url.username = "";
    url.password = "";
    if (username === "") return { url, token: undefined };
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return { url, token: `Basic ${Buffer.from(credentials).toString("base64")}` };
  } catch {
    // The caught error is dropped, because it quotes the value with its credentials.
    throw new AppError("http-failed", "The address of the proxy cannot be used.", {
      hint: "Write HTTPS_PROXY and HTTP_PROXY as http://host:port; percent-encode special characters of a password.",
    });
  }
}
