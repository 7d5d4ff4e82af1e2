import { AppError } from "../errors.ts";
import { listCaFiles, openHttpClient, readProxySettings } from "./http-client.ts";
import type { HttpResponse } from "./http-exchange.ts";
import type { LookUpAddresses } from "./public-address.ts";

const MAX_REDIRECTS = 5;

/** Rules for fetching an address that the user did not choose as a server. */
export interface FetchRules {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly allowsPrivate: boolean;
  /** Resolves names; by default as the system does. */
  readonly lookUp?: LookUpAddresses | undefined;
}

/**
 * Requests an address that comes from a page, a tool or a model, and passes the response to `use`. All such requests go
 * through this function: unless `allowsPrivate` is set, every host must be on the public internet, even after a redirect, and
 * only checked addresses are connected to. Behind a proxy, the proxy resolves the name again.
 */
export async function fetchUrl<Result>(
  address: string,
  { variables, allowsPrivate, lookUp }: FetchRules,
  use: (url: URL, response: HttpResponse) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  await using http = openHttpClient({
    proxy: readProxySettings(variables),
    caFiles: listCaFiles(undefined, variables),
    onlyPublic: !allowsPrivate,
    lookUp,
  });
  const start = parseUrl(address);
  let url = start;
  // Each redirect is a request of its own, so that its host is checked like the first one.
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const headers = { "user-agent": "hermes-agent", accept: "text/html,text/*;q=0.9,*/*;q=0.5" };
    const response = await http.exchange(url, { method: "GET", headers, body: "" }, signal);
    const location = response.header("location");
    // Awaited, because the connection closes when this function returns.
    if (response.status < 300 || response.status >= 400 || location === undefined)
      return await use(url, response);
    if (!URL.canParse(location, url.href))
      throw refuseUrl(url, "it redirects to something that is not an address");
    url = parseUrl(new URL(location, url.href).href);
  }
  throw refuseUrl(start, `it redirects more than ${MAX_REDIRECTS} times`);
}

/** The error for a page that cannot be used; `why` completes "The page of HOST cannot be used: …". */
export function refuseUrl({ host }: Pick<URL, "host">, why: string): AppError {
  return new AppError("url-refused", `The page of ${host} cannot be used: ${why}.`, {
    hint: "Check the address in a browser, or leave it out.",
  });
}

function parseUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new AppError("url-refused", "Only http and https addresses can be fetched.", {
    hint: "Write the whole address, as in https://example.com/page.",
  });
}
