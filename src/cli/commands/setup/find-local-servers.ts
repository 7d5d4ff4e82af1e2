import type { App } from "../../../app/app.ts";
import { createCatalogueParts } from "../../../app/catalogue.ts";
import { readRouteSettings } from "../../../app/conversation.ts";
import { AppError } from "../../../lib/errors.ts";
import type { ListedModel } from "../../../providers/catalogue/parse-list.ts";
import { listUsableRoutes } from "../../../providers/catalogue/usable-routes.ts";
import { isLocalRoute, type Route } from "../../../providers/routes/resolve-route.ts";

/** A model server on this machine or in its network that has listed its models. */
export interface LocalServer {
  readonly route: Route;
  readonly models: readonly ListedModel[];
}

/** Long enough for a server that is loading a model. If no server runs, the request fails immediately. */
const ANSWER_WITHIN_MS = 5_000;

/** Requests the model lists of all local servers, at their usual ports and at the addresses in the settings, concurrently. */
export async function findLocalServers(app: App, signal: AbortSignal): Promise<LocalServer[]> {
  const settings = readRouteSettings(app.resolved);
  const parts = createCatalogueParts(app, { settings, withinMs: ANSWER_WITHIN_MS });
  const routes = listUsableRoutes(settings, parts.variable).filter(isLocalRoute);
  const ask = async (route: Route): Promise<LocalServer[]> => {
    try {
      return [{ route, models: await parts.fetchList(route, signal) }];
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppError) return []; // there is no server, or it lists no models
      throw error;
    }
  };
  return (await Promise.all(routes.map(ask))).flat();
}

const TITLES: Readonly<Record<string, string>> = {
  ollama: "Ollama",
  lmstudio: "LM Studio",
  "llama-cpp": "llama.cpp",
  vllm: "vLLM",
};

/** The name and address of a server, as shown to users. */
export function titleOf({ provider, baseUrl }: Route): string {
  return `${TITLES[provider] ?? provider} at ${new URL(baseUrl).host}`;
}
