import type { HttpClient } from "../../lib/http/http-client.ts";
import { isLocalAddress } from "../failures/timeouts.ts";
import { splitQuery } from "../routes/address.ts";
import type { ApiMode } from "../routes/profiles.ts";
import type { Route } from "../routes/resolve-route.ts";
import { fetchJson, unlisted } from "./fetch-json.ts";
import { fetchOllamaModels } from "./ollama-models.ts";
import { type ListedModel, parseModelList } from "./parse-list.ts";

/** Fetches the list of models from the server of a route. Throws `models-unlisted` or `http-failed`. */
export async function fetchModelList(
  route: Route,
  http: HttpClient,
  withinMs: number,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const { url, headers } = listRequest(route);
  const models = parseModelList(await fetchJson(http, url, { headers, withinMs }, signal));
  if (models === undefined)
    throw unlisted(`${url.host} answered with something that is not a list of models.`);
  const isDescribed = models.some(({ contextTokens }) => contextTokens !== undefined);
  if (isDescribed || !isLocalAddress(route.baseUrl)) return models;
  // Ollama's list has names only; other local servers do not know these paths.
  const details = await fetchOllamaModels(route, http, withinMs, signal);
  return models.map((model) => ({ ...model, ...details.get(model.name) }));
}

interface ListFormat {
  keyHeader(key: string): Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The parameter for the number of entries. Formats without one return all entries at once. */
  readonly countParameter?: string;
}

const bearer: ListFormat = { keyHeader: (key) => ({ authorization: `Bearer ${key}` }) };
const LIST_FORMATS: { readonly [Mode in Exclude<ApiMode, "scripted">]: ListFormat } = {
  chat_completions: bearer,
  codex_responses: bearer,
  anthropic_messages: {
    keyHeader: (key) => ({ "x-api-key": key }),
    headers: { "anthropic-version": "2023-06-01" },
    countParameter: "limit",
  },
  ollama_chat: bearer,
  google_generate: { keyHeader: (key) => ({ "x-goog-api-key": key }), countParameter: "pageSize" },
};
const MAX_ENTRIES = "1000"; // the most that both vendors with such a parameter allow

/** The address of a list and its headers, which depend on the wire format. */
function listRequest({ apiMode, baseUrl, key, headers: ownHeaders }: Route): {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
} {
  if (apiMode === "scripted") throw unlisted("A scripted model has no server.");
  const { keyHeader, headers, countParameter } = LIST_FORMATS[apiMode];
  const { base, search } = splitQuery(baseUrl);
  // Other clients of these formats expect an address without a version.
  const isUnversioned =
    (apiMode === "anthropic_messages" || apiMode === "ollama_chat") && !/\/v\d+$/.test(base);
  const url = new URL(`${base}${isUnversioned ? "/v1" : ""}/models${search}`);
  if (countParameter !== undefined) url.searchParams.set(countParameter, MAX_ENTRIES);
  return { url, headers: { ...headers, ...(key === undefined ? {} : keyHeader(key)), ...ownHeaders } };
}
