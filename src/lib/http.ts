import { AppError } from "./errors.ts";
import type { HttpAnswer, HttpRequest } from "./http-exchange.ts";
import { httpFailure } from "./http-failure.ts";
import {
  type ConnectionSettings,
  type HttpTransport,
  openHttpTransport,
  type ProxySettings,
} from "./http-transport.ts";

export interface HttpSettings extends ConnectionSettings {
  /** Name of the setting for a CA file, for the advice when a certificate is not trusted. */
  readonly caKey?: string | undefined;
}

/** Requests to other hosts, on connections of its own, which end when it is disposed of. */
export interface HttpClient extends AsyncDisposable {
  /** Loads what requests need, so that the first one does not wait for it; a failure is told by that request. */
  prepare(): void;
  /**
   * A request whose answer is read as it comes. Until the answer's headers are there, a failure of the connection is an
   * `http-failed`, an abort is the signal's reason. Redirects are answers like others.
   */
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

/** A client that goes through the proxies and trusts the certificates that it is told of, and looks at nothing else. */
export function createHttpClient(settings: HttpSettings): HttpClient {
  let opening: Promise<HttpTransport> | undefined;
  let disposed = false;

  function open(): Promise<HttpTransport> {
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
        return await transport.exchange(url, request, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AppError) throw error;
        const proxyHost = transport.proxyHostFor(url);
        throw httpFailure(error, { host: url.host, proxyHost, caKey: settings.caKey });
      }
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      // One that never opened has nothing to close.
      const transport = await opening?.catch(() => undefined);
      await transport?.[Symbol.asyncDispose]();
    },
  };
}

/** Refuses an address with credentials, and never quotes one. */
function parseAddress(input: string | URL): URL {
  if (!URL.canParse(String(input)))
    throw new AppError("http-failed", "The address of a request is not a URL.");
  const url = new URL(input);
  if (url.username === "" && url.password === "") return url;
  throw new AppError("http-failed", `The address for ${url.host} carries a user name or password.`, {
    hint: "Hand credentials over in a header.",
  });
}
