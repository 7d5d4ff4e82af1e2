import { AppError } from "../../lib/errors.ts";
import type { ReadVariable, RouteSettings } from "../routes/choose-provider.ts";
import { PROVIDER_PROFILES } from "../routes/profiles.ts";
import { type Route, resolveRoute } from "../routes/resolve-route.ts";

/** The route of the configured model, or of its provider if no model is chosen yet; undefined if there is none. */
export function findCurrentRoute(settings: RouteSettings, variable: ReadVariable): Route | undefined {
  return (
    unlessRefused(() => resolveRoute(settings, {}, variable)) ??
    unlessRefused(() => resolveRoute(settings, { model: "any" }, variable))
  );
}

/** The providers that have a key or need none, each with the route to one of its models. */
export function listUsableRoutes(settings: RouteSettings, variable: ReadVariable): Route[] {
  const current = findCurrentRoute(settings, variable);
  const names = new Set([...Object.keys(settings.providers), ...Object.keys(PROVIDER_PROFILES)]);
  const routes = [...names].flatMap((provider) => {
    const isCurrent = provider === current?.provider;
    if (provider === "scripted" || (provider === "custom" && !isCurrent)) return [];
    return findProviderRoute(isCurrent ? settings : withoutModelAddress(settings), provider, variable) ?? [];
  });
  // A preset may have the address of the current model.
  return routes.filter(
    ({ provider, baseUrl }) =>
      provider === current?.provider ||
      baseUrl !== current?.baseUrl ||
      Object.hasOwn(settings.providers, provider),
  );
}

/** The route to a provider for requests without a particular model; undefined if a key or an address is missing. */
export function findProviderRoute(
  settings: RouteSettings,
  provider: string,
  variable: ReadVariable,
): Route | undefined {
  return unlessRefused(() => resolveRoute(settings, { provider, model: "any" }, variable));
}

/** `model.base_url` belongs to the current model: other providers must not be sought at that address. */
function withoutModelAddress(settings: RouteSettings): RouteSettings {
  return {
    ...settings,
    model: { ...settings.model, base_url: "" },
    modelAddress: { stored: "", ofKey: "", ofRun: "" },
  };
}

function unlessRefused(resolve: () => Route): Route | undefined {
  try {
    return resolve();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
