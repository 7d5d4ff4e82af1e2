import { AppError } from "../lib/errors.ts";
import type { CatalogueParts } from "../providers/catalogue/load-catalogue.ts";
import { loadList } from "../providers/catalogue/load-list.ts";
import { requireKnownName } from "../providers/catalogue/near-name.ts";
import { findCurrentRoute } from "../providers/catalogue/usable-routes.ts";
import { type Route, resolveRoute } from "../providers/routes/resolve-route.ts";
import type { App } from "./app.ts";

/** One change of config.yaml; `to` is undefined for a removal. */
interface ModelChange {
  readonly key: "default" | "provider" | "base_url" | "api_mode";
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** Throws if the name is probably a misspelt name of a known model. Sends no request. */
export async function requireKnown(parts: CatalogueParts, route: Route, signal: AbortSignal): Promise<void> {
  const [{ list }, data] = await Promise.all([
    loadList(parts, route, "stored", signal),
    parts.cache.loadData(),
  ]);
  requireKnownName(parts.settings, data, route, list?.models ?? []);
}

/** The changes of config.yaml after which new sessions use this route. */
export function findModelChanges(
  { resolved }: App,
  { settings, variable }: Pick<CatalogueParts, "settings" | "variable">,
  route: Route,
): ModelChange[] {
  const stored = (key: ModelChange["key"]): string | undefined => {
    const layerValues = resolved.settings.get(`model.${key}`)?.layerValues ?? [];
    const inFile = layerValues.find(({ origin }) => origin === "file");
    return inFile === undefined ? undefined : String(inFile.value);
  };
  // The stored address and format belong to the current provider.
  const isOtherProvider = findCurrentRoute(settings, variable)?.provider !== route.provider;
  const keepsAddress = !isOtherProvider || route.addressKey === "model.base_url";
  const keepOrRemove = (key: ModelChange["key"]) => ({
    key,
    from: stored(key),
    to: keepsAddress ? stored(key) : undefined,
  });
  // A name with a colon may be read as PROVIDER:NAME; then it is stored with its own provider in front.
  const isUnambiguous = (name: string): boolean => {
    const model = { ...settings.model, default: name, provider: route.provider };
    const kept = keepsAddress ? { model, modelAddress: settings.modelAddress } : withoutAddress(model);
    try {
      const again = resolveRoute({ ...settings, ...kept }, {}, variable);
      return again.model === route.model && again.provider === route.provider;
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  };
  const name = isUnambiguous(route.model) ? route.model : `${route.provider}:${route.model}`;
  const changes: readonly ModelChange[] = [
    { key: "provider", from: stored("provider"), to: route.provider },
    { key: "default", from: stored("default"), to: name },
    keepOrRemove("base_url"),
    keepOrRemove("api_mode"),
  ];
  return changes.filter(({ from, to }) => from !== to);
}

function withoutAddress(model: CatalogueParts["settings"]["model"]) {
  return {
    model: { ...model, base_url: "", api_mode: "auto" as const },
    modelAddress: { stored: "", ofKey: "", ofRun: "" },
  };
}

/** Warnings about settings that override the new model or its window. */
export function* warnOfOverrides({ resolved }: App, changes: readonly ModelChange[]): Generator<string> {
  for (const { key } of changes) {
    const layerValues = resolved.settings.get(`model.${key}`)?.layerValues ?? [];
    const stronger = layerValues.find(({ origin }) => origin !== "file");
    if (stronger !== undefined) yield `${stronger.where} overrides model.${key} while it is set.`;
  }
  const { context_length: tokens } = resolved.config.model;
  if (tokens !== null && changes.length > 0)
    yield `model.context_length (${tokens}) applies to the new model too; remove it with \`hermes config unset model.context_length\`.`;
}
