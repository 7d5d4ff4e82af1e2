import type { z } from "zod";
import { AppError } from "../lib/errors.ts";
import {
  type Choice,
  chooseProvider,
  type RouteRequest,
  type RouteSettings,
  type Variable,
} from "./choose-provider.ts";
import type { providersOption } from "./options.ts";
import { type ApiMode, findKnownModel, findProfile, PROFILES, type ProviderProfile } from "./profiles.ts";
import type { ModelPrice } from "./provider.ts";
import { defaultTimeouts, type RequestTimeouts } from "./timeouts.ts";

/** Everything that is needed to reach one model. */
export interface Route {
  /** As the settings name it: a provider id, or a name below `providers`. */
  readonly provider: string;
  /** The profile it follows. */
  readonly profile: string;
  readonly model: string;
  readonly apiMode: ApiMode;
  /** Empty for a script. */
  readonly baseUrl: string;
  /** The setting that the address comes from, or would if it were not the provider's own. */
  readonly addressKey: string;
  readonly key: string | undefined;
  /** Name of the setting or variable that the key comes from. */
  readonly keySource: string | undefined;
  /** Why there is no key, and how to set one; undefined where there is one. */
  readonly keyAdvice: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly timeouts: RequestTimeouts;
  readonly connectTimeoutMs: number | undefined;
  readonly caFile: string | undefined;
  /** Whether the certificate of the server is checked. */
  readonly verifiesTls: boolean;
  readonly contextTokens: number | undefined;
  readonly price: ModelPrice | undefined;
}

/** Finds the way to the model that was asked for, or says what is missing; it never falls back to another provider. */
export function resolveRoute(settings: RouteSettings, request: RouteRequest, variable: Variable): Route {
  const choice = chooseProvider(settings, request, variable);
  const { provider } = choice;
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profileId = findProfile(provider) === undefined ? "custom" : provider;
  const profile: ProviderProfile = findProfile(profileId) ?? PROFILES.custom;
  const ownBaseUrl = named?.base_url ?? profile.baseUrl;
  const usesModelUrl = choice.isConfigured && settings.model.base_url !== "";
  const baseUrl = usesModelUrl ? settings.model.base_url : ownBaseUrl;
  const addressKey =
    usesModelUrl || provider === "custom" ? "model.base_url" : `providers.${provider}.base_url`;
  const model = choice.model ?? named?.model ?? profile.defaultModel;

  if (model === undefined || model === "") {
    throw new AppError("model-unnamed", `No model is named for the provider ${provider}.`, {
      hint: `Say which, for instance with \`hermes config set model.default NAME\` or as ${provider}:NAME.`,
    });
  }
  if (profile.apiMode === "scripted") return scriptedRoute(model, settings.model.context_length);
  if (baseUrl === undefined) {
    throw new AppError("provider-incomplete", `The provider ${provider} has no address.`, {
      hint: `Set ${addressKey}.`,
    });
  }

  const apiMode = apiModeOf(settings, choice, profile.apiMode, baseUrl);
  const key = findKey(settings, choice, baseUrl, variable);
  if (key === undefined && profile.needsKey && sameHost(baseUrl, profile.baseUrl)) {
    throw new AppError("provider-key-missing", `There is no key for the provider ${provider}.`, {
      hint: howToSetKey(named?.key_env, profile),
    });
  }
  const keyAdvice =
    key === undefined ? adviseKey(settings, choice, { baseUrl, addressKey }, variable) : undefined;
  const timeouts = defaultTimeouts(baseUrl, apiMode);
  const known = sameHost(baseUrl, profile.baseUrl) ? findKnownModel(profileId, model) : undefined;
  const ofModel = modelSettings(named?.models, model);
  return {
    provider,
    profile: profileId,
    model,
    apiMode,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    addressKey,
    key: key?.value,
    keySource: key?.source,
    keyAdvice,
    headers: named?.headers ?? {},
    requestOverrides: named?.request_overrides ?? {},
    timeouts: {
      staleMs:
        milliseconds(ofModel["stale_timeout_seconds"] ?? named?.stale_timeout_seconds) ?? timeouts.staleMs,
      requestMs:
        milliseconds(ofModel["timeout_seconds"] ?? named?.request_timeout_seconds) ?? timeouts.requestMs,
    },
    connectTimeoutMs: milliseconds(named?.connect_timeout_seconds),
    caFile: named?.ssl_ca_cert,
    verifiesTls: named?.ssl_verify ?? true,
    contextTokens:
      (choice.isConfigured ? settings.model.context_length : null) ??
      positive(ofModel["context_length"]) ??
      known?.contextTokens,
    price: priceOf(ofModel["price"]) ?? known?.price,
  };
}

/**
 * A key goes to the host that it is for, and nowhere else: the provider's own, and the one that `providers` names for that
 * very provider. The key of OpenAI's format is for a server without a name too, but not where anybody can read it.
 */
function findKey(
  settings: RouteSettings,
  { provider, isConfigured }: Choice,
  baseUrl: string,
  variable: Variable,
): { readonly value: string; readonly source: string } | undefined {
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profile = findProfile(provider);
  const usesModelSettings =
    isConfigured && (settings.model.base_url === "" || settings.model.base_url === baseUrl);
  if (usesModelSettings && settings.model.api_key !== "")
    return { value: settings.model.api_key, source: "model.api_key" };
  const isOwn = [named?.base_url, profile?.baseUrl].some((own) => sameHost(baseUrl, own));
  if (named?.key_env !== undefined && isOwn) return fromVariables([named.key_env], variable);
  if (provider === "custom") return canBeRead(baseUrl) ? undefined : fromVariables([FORMAT_KEY], variable);
  return profile !== undefined && isOwn ? fromVariables(profile.keyVariables, variable) : undefined;
}

const FORMAT_KEY = "OPENAI_API_KEY";

/** Whether what is sent there crosses a network in the clear. */
function canBeRead(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !/^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** For whoever is asked for a key by a server that got none. */
function adviseKey(
  settings: RouteSettings,
  { provider }: Choice,
  { baseUrl, addressKey }: { readonly baseUrl: string; readonly addressKey: string },
  variable: Variable,
): string {
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profile = findProfile(provider);
  if (addressKey === "model.base_url") {
    const how = "Store the key for this address with `hermes config set model.api_key`.";
    const withheld = fromVariables(
      provider === "custom" ? [FORMAT_KEY] : (profile?.keyVariables ?? []),
      variable,
    );
    if (withheld === undefined) return how;
    const why =
      provider === "custom"
        ? "this address is not encrypted"
        : `it is for ${hostOf(profile?.baseUrl ?? baseUrl)} and for providers.${provider}.base_url only`;
    return `${withheld.source} was not sent, because ${why}. ${how}`;
  }
  if (named?.key_env === undefined && profile === undefined)
    return `Name the variable that holds its key: \`hermes config set providers.${provider}.key_env NAME\`.`;
  return howToSetKey(named?.key_env, profile);
}

function howToSetKey(keyEnv: string | undefined, profile: ProviderProfile | undefined): string {
  const variables = keyEnv === undefined ? (profile?.keyVariables ?? []) : [keyEnv];
  // A variable of one's own is no setting.
  const command =
    keyEnv === undefined ? `Store it with \`hermes config set ${variables[0]}\`, or put` : "Put";
  const place =
    keyEnv === undefined ? "into the environment" : "into the environment or into .env of the profile";
  return `${command} ${variables.join(" or ")} ${place}.`;
}

function hostOf(address: string): string {
  return new URL(address).host;
}

function fromVariables(names: readonly string[], variable: Variable) {
  for (const source of names) {
    const value = variable(source);
    if (value) return { value, source };
  }
  return undefined;
}

function apiModeOf(
  { model, providers }: RouteSettings,
  { provider, isConfigured }: Choice,
  ofProfile: ApiMode,
  baseUrl: string,
): ApiMode {
  const named = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const explicit =
    (isConfigured && model.api_mode !== "auto" ? model.api_mode : undefined) ?? named?.api_mode;
  if (explicit === "codex_responses") {
    throw new AppError("provider-unknown", "The wire format codex_responses is not built yet.", {
      hint: "Use chat_completions or anthropic_messages.",
    });
  }
  if (explicit !== undefined) return explicit;
  if (provider !== "custom" && findProfile(provider) !== undefined) return ofProfile;
  const { hostname, pathname } = new URL(baseUrl);
  const looksAnthropic = hostname === "api.anthropic.com" || /\/anthropic(?:\/v1)?\/?$/.test(pathname);
  return looksAnthropic ? "anthropic_messages" : ofProfile;
}

function scriptedRoute(model: string, contextTokens: number | null): Route {
  return {
    provider: "scripted",
    profile: "scripted",
    model,
    apiMode: "scripted",
    baseUrl: "",
    addressKey: "",
    key: undefined,
    keySource: undefined,
    keyAdvice: undefined,
    headers: {},
    requestOverrides: {},
    timeouts: { staleMs: 180_000, requestMs: 1_800_000 },
    connectTimeoutMs: undefined,
    caFile: undefined,
    verifiesTls: true,
    contextTokens: contextTokens ?? undefined,
    price: undefined,
  };
}

function sameHost(one: string, other: string | undefined): boolean {
  return other !== undefined && new URL(one).origin === new URL(other).origin;
}

function modelSettings(
  models: z.infer<typeof providersOption>[string]["models"],
  model: string,
): Readonly<Record<string, unknown>> {
  if (models === undefined || Array.isArray(models)) return {};
  return (Object.hasOwn(models, model) ? models[model] : undefined) ?? {};
}

/** A price from the settings; what is not said about the cache costs as much as input. */
function priceOf(value: unknown): ModelPrice | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { input, output, cache_read: cacheRead, cache_write: cacheWrite } = value as Record<string, unknown>;
  const isAmount = (amount: unknown): amount is number => typeof amount === "number" && amount >= 0;
  if (!isAmount(input) || !isAmount(output)) return undefined;
  return {
    input,
    output,
    cacheRead: isAmount(cacheRead) ? cacheRead : input,
    cacheWrite: isAmount(cacheWrite) ? cacheWrite : input,
  };
}

function milliseconds(seconds: unknown): number | undefined {
  const value = positive(seconds);
  return value === undefined ? undefined : value * 1000;
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}
