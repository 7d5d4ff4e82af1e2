import type { App } from "../../../app/app.ts";
import { loadList } from "../../../providers/catalogue/load-list.ts";
import { describeModel } from "../../../providers/catalogue/merge-models.ts";
import { smallWindowNotice } from "../../../providers/catalogue/model-facts.ts";
import { createRouteCatalogue, NOTHING_TYPED } from "../../../providers/catalogue/route-catalogue.ts";
import {
  isLocalRoute,
  isOllamaRoute,
  type Route,
  resolveRoute,
} from "../../../providers/routes/resolve-route.ts";
import type { CommandContext, JsonOption } from "../../context.ts";
import { printFields } from "../../terminal/table.ts";
import { factFields, formatAbilities, WINDOW_SOURCES } from "./fact-text.ts";
import { openCatalogue } from "./model-context.ts";

export async function showModel(context: CommandContext, { json }: JsonOption): Promise<void> {
  const { terminal, signal } = context;
  const { app, parts } = await openCatalogue(context);
  const resolved = resolveRoute(parts.settings, {}, parts.variable);
  const route = await createRouteCatalogue(parts).complete(resolved, NOTHING_TYPED, signal);
  const [{ list }, data] = await Promise.all([
    loadList(parts, route, "stored", signal),
    parts.cache.loadData(),
  ]);
  const listed = list?.models.find(({ name }) => name === route.model);
  const { contextTokens, contextSource, price } = route;
  const facts = { ...describeModel(data, route, listed), contextTokens, price };
  const found = {
    model: route.model,
    model_from: originOfModel(app, route),
    provider: route.provider,
    provider_from: originOf(app, "model.provider") ?? chosenBy(route),
    address: route.baseUrl,
    key_from: route.keySource ?? null,
    context_source: contextSource,
    ...factFields(facts),
  };
  if (json) return terminal.printJson(found);
  printFields(terminal, [
    ["model", `${found.model} (${found.model_from})`],
    ["provider", `${found.provider} (${found.provider_from})`],
    ["address", found.address],
    ["key", route.keySource ?? route.withheldKey ?? "none"],
    [
      "window",
      contextTokens === undefined ? "" : `${contextTokens} tokens, ${WINDOW_SOURCES[contextSource]}`,
    ],
    ["answer", facts.maxOutputTokens === undefined ? "" : `at most ${facts.maxOutputTokens} tokens`],
    [
      "price",
      price === undefined
        ? isLocalRoute(route)
          ? "none: the server is in your own network"
          : "unknown"
        : `$${price.input} in, $${price.output} out, $${price.cacheRead} from cache, $${price.cacheWrite} into cache, per million tokens`,
    ],
    ["abilities", formatAbilities(facts)],
    ["change", "`hermes model list`, then `hermes model set NAME`; `-m NAME` for one run"],
  ]);
  const isOllama = isOllamaRoute(route);
  const notice =
    smallWindowNotice(route.model, route, { isOllama }) ??
    (isOllama && route.contextSource !== "setting" ? OLLAMA_WINDOW : undefined);
  if (notice !== undefined) terminal.note(`hermes: ${notice}`);
}

const OLLAMA_WINDOW =
  "Ollama may load the model with a smaller window, and then silently drops the beginning of a longer conversation. Set model.ollama_num_ctx to the window that you want.";

function originOfModel(app: App, { provider }: Route): string {
  const named = app.resolved.config.providers[provider]?.model;
  return (
    originOf(app, "model.default") ??
    (named === undefined ? `default of ${provider}` : `providers.${provider}.model`)
  );
}

/** The setting or variable that selects the provider if model.provider does not. */
function chosenBy({ addressKey, keySource }: Route): string {
  return addressKey === "model.base_url" ? addressKey : (keySource ?? "providers");
}

/** The flag, variable or line of a file that sets a setting, if any. */
function originOf({ resolved }: App, key: string): string | undefined {
  return resolved.settings.get(key)?.layerValues.find(({ problem }) => problem === undefined)?.where;
}
