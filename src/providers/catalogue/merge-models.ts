import { withoutUndefined } from "../../lib/without-undefined.ts";
import { isSameServer } from "../routes/address.ts";
import type { RouteSettings } from "../routes/choose-provider.ts";
import { findProviderProfile } from "../routes/profiles.ts";
import { factsInSettings, findDataFacts, type Route } from "../routes/resolve-route.ts";
import { knownModels, type ModelData } from "./model-data.ts";
import { type ModelFacts, resolveFacts } from "./model-facts.ts";
import type { ListedModel } from "./parse-list.ts";

/** Where an entry of the catalogue comes from. */
export type EntrySource = "server" | "settings" | "favourite" | "data";

export interface CatalogueEntry extends ModelFacts {
  readonly name: string;
  readonly source: EntrySource;
  readonly isFavourite: boolean;
  /** Whether the data file describes it. */
  readonly isKnown: boolean;
}

/** Merges the list of a provider's server with the settings, the favourites and the data file; favourites come first. */
export function mergeModels(
  settings: RouteSettings,
  data: ModelData,
  route: Route,
  listed: readonly ListedModel[],
): CatalogueEntry[] {
  const byName = new Map(listed.map((model) => [model.name, model]));
  const favourites = favouritesOf(settings, route.provider);
  const sources: readonly (readonly [EntrySource, Iterable<string>])[] = [
    // A server's list is complete, so this key cannot use a model that is only in the data file.
    ["data", listed.length === 0 ? knownAt(route, data) : []],
    ["favourite", favourites],
    ["settings", configuredModels(settings, route.provider)],
    ["server", byName.keys()],
  ];
  const sourceOf = new Map(sources.flatMap(([source, names]) => [...names].map((name) => [name, source])));
  return [...sourceOf]
    .map(([name, source]) => ({
      ...describeModel(
        data,
        { ...route, model: name, configured: factsInSettings(settings, route.provider, name) },
        byName.get(name),
      ),
      name,
      source,
      isFavourite: favourites.includes(name),
    }))
    .toSorted(
      (one, other) => Number(other.isFavourite) - Number(one.isFavourite) || compare(one.name, other.name),
    );
}

/** What the settings, the server and the data file say about a model, without guesses. */
export function describeModel(
  data: ModelData,
  route: Route,
  listed: ModelFacts | undefined,
): ModelFacts & Pick<CatalogueEntry, "isKnown"> {
  const sources = { configured: route.configured, listed, ...findDataFacts(data, route) };
  const { contextTokens, contextSource, price } = resolveFacts(sources);
  return {
    ...(sources.known ?? sources.native),
    ...withoutUndefined(listed ?? {}),
    contextTokens: contextSource === "default" ? undefined : contextTokens,
    price,
    isKnown: (sources.known ?? sources.native) !== undefined,
  };
}

function favouritesOf({ model }: RouteSettings, provider: string): string[] {
  const start = `${provider}:`;
  return model.favourites.filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
}

function configuredModels({ providers }: RouteSettings, provider: string): string[] {
  const { model, models = [] } = (Object.hasOwn(providers, provider) ? providers[provider] : undefined) ?? {};
  const names = Array.isArray(models) ? models : Object.keys(models);
  return model === undefined ? names : [model, ...names];
}

function knownAt({ profile, baseUrl }: Route, data: ModelData): Iterable<string> {
  return isSameServer(baseUrl, findProviderProfile(profile)?.baseUrl)
    ? knownModels(data, profile).keys()
    : [];
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
