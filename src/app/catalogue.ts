import { systemClock } from "../lib/time/clock.ts";
import type { CatalogueParts } from "../providers/catalogue/load-catalogue.ts";
import { createModelCache } from "../providers/catalogue/model-cache.ts";
import type { RouteSettings } from "../providers/routes/choose-provider.ts";
import type { App } from "./app.ts";

const HOUR_MS = 3_600_000;

/** What is needed to load the catalogue of models of a profile; `withinMs` limits each request to a server. */
export function createCatalogueParts(
  { profile, resolved, variables }: App,
  { settings, withinMs }: { readonly settings: RouteSettings; readonly withinMs: number },
): CatalogueParts {
  return {
    settings,
    variable: resolved.variable,
    cache: createModelCache(profile.home),
    ttlMs: resolved.config.model_catalog.ttl_hours * HOUR_MS,
    clock: systemClock,
    async fetchList(route, signal) {
      const [{ openRouteHttp }, { fetchModelList }] = await Promise.all([
        import("../providers/routes/route-http.ts"),
        import("../providers/catalogue/fetch-list.ts"),
      ]);
      const { http, safeRoute } = openRouteHttp(route, variables);
      await using _ = http;
      return await fetchModelList(safeRoute, http, withinMs, signal);
    },
  };
}
