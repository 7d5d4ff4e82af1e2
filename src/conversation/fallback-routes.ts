import type { z } from "zod";
import { AppError } from "../lib/errors.ts";
import type { fallbackProvidersOption } from "../providers/options.ts";
import type { ReadVariable, RouteSettings } from "../providers/routes/choose-provider.ts";
import { PROVIDER_ALIASES } from "../providers/routes/profiles.ts";
import { isLocalRoute, type Route, resolveRoute } from "../providers/routes/resolve-route.ts";
import type { Fallback } from "../providers/routes/route-chain.ts";

export interface FallbackSettings extends RouteSettings {
  readonly fallback_providers: z.infer<typeof fallbackProvidersOption>;
}

type FallbackEntry = FallbackSettings["fallback_providers"][number];

/** The fallback chain of a session whose model has the route `primary`. */
export function createFallbacks(
  settings: FallbackSettings,
  primary: Route,
  variable: ReadVariable,
): readonly Fallback[] {
  return settings.fallback_providers.map((entry, index) => ({
    name: `${entry.provider}/${entry.model}`,
    resolve() {
      const route = resolveFallback(settings, index, variable);
      if (isLocalRoute(primary) && !isLocalRoute(route) && !isConfigured(settings, primary, variable))
        throw new AppError("provider-unknown", `${primary.baseUrl || "The scripted model"} is local.`, {
          hint: "Only a local model can replace it, because it is not the model of the settings.",
        });
      return route;
    },
  }));
}

/** The route of one entry of the chain; throws if the entry is not usable as configured. */
export function resolveFallback(settings: FallbackSettings, index: number, variable: ReadVariable): Route {
  const entry = settings.fallback_providers[index];
  if (entry === undefined) throw new Error(`fallback_providers has no entry ${index}`);
  const { provider, model, base_url: address, context_length } = entry;
  const kept = { address, apiMode: undefined };
  const route = resolveRoute(withEntry(settings, entry), { provider, model, kept }, variable);
  return {
    ...route,
    addressKey: address === undefined ? route.addressKey : `fallback_providers.${index}.base_url`,
    contextTokens: context_length ?? route.contextTokens,
  };
}

/** The settings with the address and key of an entry. If the entry has an address, settings for another one do not apply. */
function withEntry(
  settings: FallbackSettings,
  { provider, base_url, key_env }: FallbackEntry,
): RouteSettings {
  const { providers, modelAddress } = settings;
  const name = Object.hasOwn(providers, provider) ? provider : (PROVIDER_ALIASES.get(provider) ?? provider);
  // Only an entry that names a key may send one to an address that is not the provider's own.
  const server = key_env && { ...providers[name], ...(base_url && { base_url }), key_env };
  const model = { ...settings.model, context_length: null };
  return {
    model: base_url === undefined ? model : { ...model, base_url: "", api_mode: "auto" },
    providers: server ? { ...providers, [name]: server } : providers,
    modelAddress: base_url === undefined ? modelAddress : { stored: "", ofKey: "", ofRun: "" },
  };
}

function isConfigured(settings: RouteSettings, { baseUrl }: Route, variable: ReadVariable): boolean {
  try {
    return resolveRoute(settings, {}, variable).baseUrl === baseUrl;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}
