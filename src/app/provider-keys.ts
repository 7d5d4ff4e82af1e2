import { AppError } from "../lib/errors.ts";
import { systemClock } from "../lib/time/clock.ts";
import { findCooldown } from "../providers/pool/cooldown.ts";
import { createKeyStates, type KeyState, type KeyStates } from "../providers/pool/key-states.ts";
import {
  findPoolKeys,
  fingerprintOf,
  MAX_KEYS,
  numberedVariable,
  type PoolKey,
} from "../providers/pool/pool-key.ts";
import type { ModelFailure } from "../providers/provider.ts";
import {
  type ReadVariable,
  type RouteRequest,
  type RouteSettings,
  requireKnownProvider,
} from "../providers/routes/choose-provider.ts";
import { PROVIDER_ALIASES, PROVIDER_PROFILES } from "../providers/routes/profiles.ts";
import { proveRoute } from "../providers/routes/prove-route.ts";
import { type Route, resolveRoute } from "../providers/routes/resolve-route.ts";
import { serverOf, withKey } from "../providers/routes/route-chain.ts";
import type { App } from "./app.ts";
import { readRouteSettings } from "./conversation.ts";

/** One key of a provider, with its state in all processes of the profile. */
export interface ListedKey {
  readonly provider: string;
  /** How commands name the key: `provider#N` for NAME_N, else its variable. */
  readonly reference: string;
  readonly key: PoolKey;
  readonly from: "environment" | ".env";
  readonly state: KeyState | undefined;
}

/** Opens the states of the profile's keys. A problem with their file is passed to `report`. */
export function openAppKeyStates({ profile }: App, report: (problem: string) => void): KeyStates {
  return createKeyStates(profile.keysPath, { clock: systemClock, report });
}

/** The provider of that name, and the variables of its keys; throws if the provider is unknown or no variable is set. */
export function requireKeyVariables(
  { resolved }: App,
  name: string,
): { readonly provider: string; readonly variables: readonly [string, ...string[]] } {
  const { providers } = resolved.config;
  requireKnownProvider(readRouteSettings(resolved), { provider: name }, resolved.variable);
  const provider = Object.hasOwn(providers, name) ? name : (PROVIDER_ALIASES.get(name) ?? name);
  const [first, ...others] = keyVariablesOf(provider, providers);
  if (first !== undefined) return { provider, variables: [first, ...others] };
  const hint =
    provider === "custom"
      ? "Store the key for model.base_url with `hermes config set model.api_key`."
      : `Name the variable of its key: \`hermes config set providers.${provider}.key_env NAME\`.`;
  throw new AppError("key-not-found", `The provider ${provider} has no variable for a key.`, { hint });
}

/** The first of a provider's numbered variables that is not set. Throws if all are set. */
export function requireFreeVariable(name: string, isSet: (name: string) => boolean): string {
  for (let number = 1; number <= MAX_KEYS; number++) {
    const candidate = numberedVariable(name, number);
    if (!isSet(candidate)) return candidate;
  }
  throw new AppError("key-exists", `All ${MAX_KEYS} variables from ${name} on are in use.`, {
    hint: "Remove a key first: `hermes auth remove`.",
  });
}

/** The keys of one provider, or of all. */
export async function listKeys(
  app: App,
  states: KeyStates,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<ListedKey[]> {
  const { resolved } = app;
  const { providers } = resolved.config;
  const ids = new Set([...Object.keys(PROVIDER_PROFILES), ...Object.keys(providers)]);
  const settings = readRouteSettings(resolved);
  const listed: ListedKey[] = [];
  for (const provider of wanted === undefined ? ids : [requireKeyVariables(app, wanted).provider]) {
    const names = keyVariablesOf(provider, providers);
    const keys = findPoolKeys(names, resolved.variable);
    if (keys.length === 0) continue;
    const server = findServer(settings, provider, resolved.variable);
    const known = server === undefined ? undefined : await states.of(server, signal);
    for (const key of keys) {
      listed.push({
        provider,
        reference: referenceOf(provider, names[0] ?? "", key.source),
        key,
        from: app.variables[key.source] === undefined ? ".env" : "environment",
        state: known?.get(fingerprintOf(key.value)),
      });
    }
  }
  return listed;
}

/** Sends one request with this key, and updates the state of the key with the result. */
export async function testProviderKey(
  app: App,
  states: KeyStates,
  {
    provider,
    key,
    model,
  }: { readonly provider: string; readonly key: PoolKey; readonly model?: string | undefined },
  signal: AbortSignal,
): Promise<{ readonly route: Route; readonly failure: ModelFailure | undefined }> {
  const { resolved, variables } = app;
  const find = (name: string) => (name === key.source ? key.value : resolved.variable(name));
  const named = resolved.config.fallback_providers.find((entry) => entry.provider === provider)?.model;
  const route = requireRoute(readRouteSettings(resolved), { provider, model }, named, find);
  const own = route.keys.find(({ source }) => source === key.source);
  if (own === undefined)
    throw new AppError("key-unproved", `${key.source} would not be sent to ${route.baseUrl}.`, {
      hint: route.keyHint ?? "Remove model.api_key, which is used instead of it.",
    });
  const { failure } = await proveRoute(withKey(route, own), variables, signal);
  const [server, fingerprint] = [serverOf(route), fingerprintOf(key.value)];
  const ms =
    failure &&
    findCooldown(failure, {
      isSole: route.keys.length === 1,
      limitMs: resolved.config.agent.key_cooldown_seconds * 1_000,
    });
  if (failure === undefined) await states.endCooldown(server, fingerprint, signal);
  else if (ms !== undefined)
    await states.startCooldown(server, fingerprint, { ms, kind: failure.kind }, signal);
  return { route, failure };
}

/** The route to the provider's default model, or else to the model `named`. */
function requireRoute(
  settings: RouteSettings,
  request: RouteRequest,
  named: string | undefined,
  variable: ReadVariable,
): Route {
  try {
    return resolveRoute(settings, request, variable);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "model-unnamed") throw error;
    if (named !== undefined) return resolveRoute(settings, { ...request, model: named }, variable);
    throw new AppError(error.code, error.message, { hint: "Name one with --model NAME.", cause: error });
  }
}

/** The variables that may contain the keys of a provider. */
export function keyVariablesOf(provider: string, providers: RouteSettings["providers"]): readonly string[] {
  const named = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (named?.key_env !== undefined) return [named.key_env];
  return Object.hasOwn(PROVIDER_PROFILES, provider)
    ? PROVIDER_PROFILES[provider as keyof typeof PROVIDER_PROFILES].keyVariables
    : [];
}

function referenceOf(provider: string, name: string, variable: string): string {
  if (variable === name) return `${provider}#1`;
  const number = variable.startsWith(`${name}_`) ? variable.slice(name.length + 1) : "";
  return /^\d+$/.test(number) ? `${provider}#${number}` : variable;
}

function findServer(
  settings: RouteSettings,
  provider: string,
  variable: (name: string) => string | undefined,
): string | undefined {
  try {
    return serverOf(resolveRoute(settings, { provider, model: "any" }, variable));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
