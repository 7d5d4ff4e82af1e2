import { caFilesOf, createHttpClient, type HttpClient, proxySettings } from "../lib/http.ts";
import type { Route } from "./resolve-route.ts";

/** The client that reaches the server of a route, as the settings and the variables say. */
export function createRouteHttp(
  { provider, caFile, verifiesTls, connectTimeoutMs }: Route,
  variables: Readonly<Record<string, string | undefined>>,
): HttpClient {
  return createHttpClient({
    proxy: proxySettings(variables),
    caFiles: caFilesOf(caFile, variables),
    caKey: `providers.${provider}.ssl_ca_cert`,
    verifiesTls,
    connectTimeoutMs,
  });
}
