import { AppError } from "../../lib/errors.ts";
import { isLocalAddress } from "../failures/timeouts.ts";
import { findDataFacts, type Route } from "../routes/resolve-route.ts";
import type { CatalogueParts } from "./load-catalogue.ts";
import { loadList } from "./load-list.ts";
import { resolveFacts } from "./model-facts.ts";
import { hasColon, requireKnownName, requireListed } from "./near-name.ts";

/** The part of the catalogue that conversations use. */
export interface RouteCatalogue {
  /** Adds the known facts about the model. Throws `model-unknown` if the user probably misspelt its name. */
  complete(route: Route, typed: TypedName, signal: AbortSignal): Promise<Route>;
  /** Remembers the window that the server stated in an error. */
  rememberWindow(route: Route, tokens: number): Promise<void>;
}

/** The model that the user typed for this run. Without a provider, `x:y` may be a model, or a provider that does not exist. */
export interface TypedName {
  readonly model: string | undefined;
  readonly provider: string | undefined;
}

export const NOTHING_TYPED: TypedName = { model: undefined, provider: undefined };

export function createRouteCatalogue(parts: CatalogueParts): RouteCatalogue {
  const { cache } = parts;
  return {
    async complete(route, typed, signal) {
      if (route.apiMode === "scripted") return route;
      const [statedTokens, data] = await Promise.all([cache.loadStatedWindow(route), cache.loadData()]);
      const isWindowKnown = (route.configured.contextTokens ?? statedTokens) !== undefined;
      const isAmbiguous = typed.provider === undefined && typed.model === route.model && hasColon(route);
      // A local server is asked before its first use, because only it knows how large it makes the window.
      const use = !isAmbiguous && (isWindowKnown || !isLocalAddress(route.baseUrl)) ? "stored" : "once";
      const { list } = await loadList(parts, route, use, signal);
      const models = list?.models ?? [];
      if (typed.model !== undefined) requireKnownName(parts.settings, data, route, models);
      if (isAmbiguous) requireListed(parts.settings, data, route, models);
      const listed = models.find(({ name }) => name === route.model || name === `${route.model}:latest`);
      const sources = {
        configured: route.configured,
        statedTokens,
        listed,
        ...findDataFacts(data, route),
      };
      return { ...route, ...resolveFacts(sources) };
    },
    async rememberWindow(route, tokens) {
      try {
        await cache.saveStatedWindow(route, tokens);
      } catch (error) {
        // Ignore a failed write, for instance on a full disk: the server will state its window again.
        if (!(error instanceof AppError)) throw error;
      }
    },
  };
}
