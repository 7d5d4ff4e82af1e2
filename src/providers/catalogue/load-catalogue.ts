import type { AppError } from "../../lib/errors.ts";
import { isLocalAddress } from "../failures/timeouts.ts";
import type { ReadVariable, RouteSettings } from "../routes/choose-provider.ts";
import { PROVIDER_PROFILES } from "../routes/profiles.ts";
import type { Route } from "../routes/resolve-route.ts";
import { type ListParts, type ListUse, loadList } from "./load-list.ts";
import { type CatalogueEntry, mergeModels } from "./merge-models.ts";
import { knownModels, type ModelData } from "./model-data.ts";
import { findCurrentRoute, listUsableRoutes } from "./usable-routes.ts";

export interface CatalogueParts extends ListParts {
  readonly settings: RouteSettings;
  readonly variable: ReadVariable;
}

export interface CatalogueRequest {
  /** Only this provider. Its server is asked even if the current model is local. */
  readonly provider?: string | undefined;
  readonly use: ListUse;
  /** Whether providers without a key are included. */
  readonly unusable?: boolean;
}

/** The models of one provider. */
export interface ProviderModels {
  readonly provider: string;
  /** Undefined if the provider cannot be used, because it has no key or no address. */
  readonly route: Route | undefined;
  /** When the list was fetched from the server; undefined if that never succeeded. */
  readonly listedAt: number | undefined;
  /** Why no new list could be fetched. */
  readonly problem: AppError | undefined;
  readonly models: readonly CatalogueEntry[];
}

/**
 * The one list of models, for all surfaces. For each provider it uses the stored list of its server if that is recent, else
 * the server, else an older list, else the data file. It never fails because of a server. If the current model is local, only
 * local servers are asked, unless the request names another provider.
 */
export async function loadCatalogue(
  parts: CatalogueParts,
  request: CatalogueRequest,
  signal: AbortSignal,
): Promise<ProviderModels[]> {
  const { settings, variable } = parts;
  const data = await parts.cache.loadData();
  const current = findCurrentRoute(settings, variable);
  const staysLocal = current !== undefined && isLocalAddress(current.baseUrl || "http://localhost");
  const load = async (route: Route): Promise<ProviderModels | undefined> => {
    const isWanted = request.provider !== undefined || !staysLocal || isLocalAddress(route.baseUrl);
    const use = isWanted ? request.use : "stored";
    const { list, problem } = await loadList(parts, route, use, signal);
    const isExpected =
      route.provider === current?.provider ||
      route.provider === request.provider ||
      Object.hasOwn(settings.providers, route.provider) ||
      !isLocalAddress(route.baseUrl);
    // A preset for a local server does not mean that such a server runs here.
    if (list?.fetchedAt === undefined && !isExpected) return undefined;
    return {
      provider: route.provider,
      route,
      listedAt: list?.fetchedAt,
      problem,
      models: mergeModels(settings, data, route, list?.models ?? []),
    };
  };
  const routes = listUsableRoutes(settings, variable).filter(
    ({ provider }) => request.provider === undefined || provider === request.provider,
  );
  const usable = (await Promise.all(routes.map(load))).filter((found) => found !== undefined);
  const found = new Set(usable.map(({ provider }) => provider));
  const unusable = Object.keys(PROVIDER_PROFILES).filter(
    (provider) =>
      !found.has(provider) &&
      (request.provider === undefined ? request.unusable === true : provider === request.provider),
  );
  return [
    ...usable.toSorted((one, other) => rank(one, current) - rank(other, current)),
    ...unusable.flatMap((provider) => describeUnusable(data, provider)),
  ];
}

function describeUnusable(data: ModelData, provider: string): ProviderModels[] {
  const models = [...knownModels(data, provider)].map(([name, facts]) => ({
    ...facts,
    name,
    source: "data" as const,
    isFavourite: false,
    isKnown: true,
  }));
  if (models.length === 0) return [];
  return [{ provider, route: undefined, listedAt: undefined, problem: undefined, models }];
}

/** The current provider comes first, then providers in the order of the settings and the profiles. */
function rank({ provider }: ProviderModels, current: Route | undefined): number {
  return provider === current?.provider ? 0 : 1;
}
