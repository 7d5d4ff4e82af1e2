import {
  findProxy,
  type HttpClient,
  listCaFiles,
  openHttpClient,
  readProxySettings,
} from "../../lib/http/http-client.ts";
import { type OpenModelOptions, openModel } from "../open-model.ts";
import type { Model } from "../provider.ts";
import { isLoopback, isUnencrypted } from "./address.ts";
import type { Route } from "./resolve-route.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** A model and the HTTP client of its connections; disposing of the client closes them. */
export interface OpenRoute {
  readonly model: Model;
  readonly http: HttpClient;
}

/** Opens the model of a route and its HTTP client, with the proxy from the variables, without sending anything. */
export async function openRoute(
  route: Route,
  variables: Variables,
  options: Omit<OpenModelOptions, "http">,
): Promise<OpenRoute> {
  const { http, safeRoute } = openRouteHttp(route, variables);
  return { http, model: await openModel(safeRoute, { ...options, http }) };
}

/** Opens the HTTP client of a route. `safeRoute` is the route without a key that must not be sent through the proxy. */
export function openRouteHttp(
  route: Route,
  variables: Variables,
): { readonly http: HttpClient; readonly safeRoute: Route } {
  const { provider, baseUrl, caFile, verifiesTls, connectTimeoutMs } = route;
  // A proxy cannot connect to a loopback address of this machine; it would only get to see the key.
  const proxy = baseUrl === "" || isLoopback(baseUrl) ? {} : readProxySettings(variables);
  const http = openHttpClient({
    proxy,
    caFiles: listCaFiles(caFile, variables),
    caKey: `providers.${provider}.ssl_ca_cert`,
    verifiesTls,
    connectTimeoutMs,
  });
  const proxyAddress = baseUrl === "" ? undefined : findProxy(new URL(baseUrl), proxy);
  return { http, safeRoute: withoutReadableKey(route, proxyAddress) };
}

/** Removes a key for an unencrypted address if a proxy on another machine could read it. */
function withoutReadableKey(route: Route, proxyAddress: string | undefined): Route {
  if (route.key === undefined || proxyAddress === undefined) return route;
  if (!isUnencrypted(route.baseUrl) || isLoopback(proxyAddress)) return route;
  const { host } = new URL(proxyAddress);
  const keyHint = `${route.keySource} was not sent, because the proxy ${host} could read it. Use https for ${route.addressKey}, or put its host into NO_PROXY.`;
  return { ...route, key: undefined, keySource: undefined, keyHint };
}
