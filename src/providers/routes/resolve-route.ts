import type { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { BUNDLED_DATA, findKnownModel, findNativeModel, type ModelData } from "../catalogue/model-data.ts";
import {
  type FactSources,
  type ModelFacts,
  resolveFacts,
  type WindowSource,
} from "../catalogue/model-facts.ts";
import { defaultTimeouts, isLocalAddress, type RequestTimeouts } from "../failures/timeouts.ts";
import type { providersOption } from "../options.ts";
import { findPoolKeys, type PoolKey, parseKey } from "../pool/pool-key.ts";
import type { ModelPrice } from "../provider.ts";
import { hostOf, isLoopback, isSameServer, isUnencrypted } from "./address.ts";
import {
  chooseProvider,
  type ProviderChoice,
  type ReadVariable,
  type RouteRequest,
  type RouteSettings,
} from "./choose-provider.ts";
import {
  API_MODES,
  type ApiMode,
  findProviderProfile,
  PROVIDER_PROFILES,
  type ProviderId,
  type ProviderProfile,
} from "./profiles.ts";

/** All parameters for requests to one model. */
export interface Route {
  /** The id of a built-in provider, or a name below `providers`. */
  readonly provider: string;
  readonly profile: string;
  readonly model: string;
  readonly apiMode: ApiMode;
  /** Empty for a scripted model. */
  readonly baseUrl: string;
  /** The setting that contains the address, or that would override the provider's own address. */
  readonly addressKey: string;
  /** The window with which Ollama should load the model. */
  readonly ollamaWindow?: number | undefined;
  /** The keys that may be sent to this server, in their order; `key` is one of them. */
  readonly keys: readonly PoolKey[];
  readonly key: string | undefined;
  /** Name of the setting or variable that contains the key. */
  readonly keySource: string | undefined;
  /** Why the route has no key, and how to set one; undefined if it has a key. */
  readonly keyHint: string | undefined;
  /** Name of a key that is set for another address only. */
  readonly withheldKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestOverrides: Readonly<Record<string, unknown>>;
  readonly timeouts: RequestTimeouts;
  readonly connectTimeoutMs: number | undefined;
  readonly caFile: string | undefined;
  readonly verifiesTls: boolean;
  /** Facts from the settings, which take precedence over all other sources. */
  readonly configured: Pick<ModelFacts, "contextTokens" | "price">;
  /** Undefined for a scripted model, whose script states it. */
  readonly contextTokens: number | undefined;
  readonly contextSource: WindowSource;
  readonly price: ModelPrice | undefined;
}

/** Resolves the route to the requested model; throws if a part is missing. It never falls back to another provider. */
export function resolveRoute(settings: RouteSettings, request: RouteRequest, variable: ReadVariable): Route {
  const choice = chooseProvider(settings, request, variable);
  const { provider } = choice;
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profileId = findProviderProfile(provider) === undefined ? "custom" : provider;
  const profile: ProviderProfile = findProviderProfile(profileId) ?? PROVIDER_PROFILES.custom;
  const { kept } = request;
  const setMode = findSetMode(settings, choice, kept?.apiMode);
  const profileUrl = (setMode === "chat_completions" && profile.chatBaseUrl) || profile.baseUrl;
  const ownBaseUrl = named?.base_url ?? profileUrl;
  // A stored address belongs to the configured provider, an address of this run to the provider of this run.
  const isForRun = kept === undefined && settings.modelAddress.ofRun !== "";
  const usesModelUrl = (choice.usesModelSettings || isForRun) && settings.model.base_url !== "";
  const baseUrl = kept?.address ?? (usesModelUrl ? settings.model.base_url : ownBaseUrl);
  const isForeign = kept?.address !== undefined && !isSameServer(kept.address, ownBaseUrl);
  const addressKey =
    usesModelUrl || isForeign || provider === "custom" ? "model.base_url" : `providers.${provider}.base_url`;
  const model = choice.model ?? named?.model ?? profile.defaultModel;

  if (model === undefined || model === "") {
    throw new AppError("model-unnamed", `No model is named for the provider ${provider}.`, {
      hint: `Choose one with \`hermes config set model.default NAME\`, or name it as ${provider}:NAME.`,
    });
  }
  if (profile.apiMode === "scripted") return scriptedRoute(model, settings.model.context_length);
  if (baseUrl === undefined) {
    throw new AppError("provider-incomplete", `The provider ${provider} has no address.`, {
      hint: `Set ${addressKey}.`,
    });
  }

  const apiMode =
    setMode === undefined || kept?.apiMode !== undefined
      ? toOllamaMode(
          setMode ?? chooseMode(provider, profile, { baseUrl, model }),
          provider,
          baseUrl,
          settings,
        )
      : setMode;
  const ollamaWindow = apiMode === "ollama_chat" ? (settings.model.ollama_num_ctx ?? undefined) : undefined;
  const keys = findKeys(settings, choice, baseUrl, variable);
  const [key] = keys;
  if (key === undefined && profile.needsKey && isSameServer(baseUrl, profile.baseUrl)) {
    throw new AppError("provider-key-missing", `There is no key for the provider ${provider}.`, {
      hint: howToAddKey(provider, named?.key_env, profile),
    });
  }
  const missing =
    key === undefined ? explainMissingKey(settings, choice, { baseUrl, addressKey }, variable) : undefined;
  const timeouts = defaultTimeouts(baseUrl, apiMode);
  // Headers may contain keys, and certificates that are trusted for one server are not trusted for another.
  const ownUrl = ownBaseUrl ?? settings.modelAddress.stored;
  const ofServer = isSameServer(baseUrl, ownUrl) ? named : undefined;
  const ofModel = modelSettings(named?.models, model);
  const inSettings = factsOf(ofModel);
  const configured = {
    contextTokens:
      (choice.usesModelSettings ? settings.model.context_length : null) ??
      inSettings.contextTokens ??
      ollamaWindow,
    price: inSettings.price,
  };
  return {
    provider,
    profile: profileId,
    model,
    apiMode,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    addressKey,
    keys,
    key: key?.value,
    keySource: key?.source,
    keyHint: missing?.text,
    withheldKey: missing?.withheld,
    headers: ofServer?.headers ?? {},
    requestOverrides: ofServer?.request_overrides ?? {},
    timeouts: {
      staleMs:
        milliseconds(ofModel["stale_timeout_seconds"] ?? named?.stale_timeout_seconds) ?? timeouts.staleMs,
      requestMs:
        milliseconds(ofModel["timeout_seconds"] ?? named?.request_timeout_seconds) ?? timeouts.requestMs,
    },
    connectTimeoutMs: milliseconds(named?.connect_timeout_seconds),
    caFile: ofServer?.ssl_ca_cert,
    verifiesTls: ofServer?.ssl_verify ?? true,
    ollamaWindow,
    configured,
    ...resolveFacts({ configured, ...findDataFacts(BUNDLED_DATA, { profile: profileId, baseUrl, model }) }),
  };
}

/** The facts of the data file about the model of a route. A provider's rows apply only to the provider's own address. */
export function findDataFacts(
  data: ModelData,
  { profile, baseUrl, model }: Pick<Route, "profile" | "baseUrl" | "model">,
): Pick<FactSources, "known" | "native"> {
  if (isSameServer(baseUrl, findProviderProfile(profile)?.baseUrl)) {
    const known = findKnownModel(data, profile, model);
    if (known !== undefined) return { known };
  }
  return { native: isLocalAddress(baseUrl) ? undefined : findNativeModel(data, model) };
}

/** Whether the server of a route is on this machine or in its network. */
export function isLocalRoute({ baseUrl }: Pick<Route, "baseUrl">): boolean {
  return baseUrl === "" || isLocalAddress(baseUrl);
}

/** Whether a model costs money, but its price is unknown. Local models cost nothing. */
export function isCostUnknown(route: Route): boolean {
  return route.price === undefined && !isLocalRoute(route);
}

/**
 * Finds the keys for a server. A key is sent only to its own server: `model.api_key` to the address that it was set
 * with, other keys to the provider's own address and to the address that `providers` sets for that provider. The address
 * of a known vendor gets only the key of that vendor, and any other unnamed server may get OPENAI_API_KEY. Without
 * encryption a key is sent only if it was set for that exact address.
 */
function findKeys(
  settings: RouteSettings,
  { provider, usesModelSettings }: ProviderChoice,
  baseUrl: string,
  variable: ReadVariable,
): readonly PoolKey[] {
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profile = findProviderProfile(provider);
  const { ofKey, ofRun } = settings.modelAddress;
  if ((usesModelSettings || isSameServer(baseUrl, ofRun)) && isSameServer(baseUrl, ofKey)) {
    const key = parseKey(settings.model.api_key, "model.api_key");
    if (key !== undefined) return [key];
  }
  const isOwn = [named?.base_url, profile?.baseUrl].some((own) => isSameServer(baseUrl, own));
  if (named?.key_env !== undefined && isOwn) return findPoolKeys([named.key_env], variable);
  if (isUnencrypted(baseUrl)) return [];
  const vendor = findVendor(baseUrl);
  if (vendor !== undefined && vendor !== provider && provider !== "custom") return [];
  const ofVendor = keyVariablesOf(vendor);
  // An unnamed server gets one key, because the others were added for the provider itself.
  if (provider === "custom" && ofVendor === undefined)
    return findPoolKeys([FORMAT_KEY], variable).filter(({ source }) => source === FORMAT_KEY);
  if (provider === "custom") return findPoolKeys(ofVendor ?? [], variable);
  return profile !== undefined && isOwn ? findPoolKeys(profile.keyVariables, variable) : [];
}

/** The built-in provider that an address belongs to, recognised by its host or, on this machine, by host and port. */
function findVendor(address: string): ProviderId | undefined {
  const { host, hostname } = withoutRootDot(address);
  return (Object.keys(PROVIDER_PROFILES) as ProviderId[]).find((id) => {
    const { baseUrl, keyVariables } = PROVIDER_PROFILES[id];
    // A preset without a key does not own its port, which other servers use too.
    if (baseUrl === undefined || keyVariables.length === 0) return false;
    return isLoopback(baseUrl) ? new URL(baseUrl).host === host : new URL(baseUrl).hostname === hostname;
  });
}

/** `api.example.com.` names the same host as `api.example.com`. */
function withoutRootDot(address: string): URL {
  const url = new URL(address);
  url.hostname = url.hostname.replace(/\.+$/, "");
  return url;
}

function keyVariablesOf(vendor: ProviderId | undefined): readonly string[] | undefined {
  return vendor === undefined ? undefined : PROVIDER_PROFILES[vendor].keyVariables;
}

const FORMAT_KEY = "OPENAI_API_KEY";

/** Explains why no key was sent and how to set one, in case the server requires a key. */
function explainMissingKey(
  settings: RouteSettings,
  { provider }: ProviderChoice,
  { baseUrl, addressKey }: { readonly baseUrl: string; readonly addressKey: string },
  variable: ReadVariable,
): { readonly text: string; readonly withheld?: string } {
  const named = Object.hasOwn(settings.providers, provider) ? settings.providers[provider] : undefined;
  const profile = findProviderProfile(provider);
  const withheld = findPoolKeys(
    provider === "custom" ? [FORMAT_KEY] : (profile?.keyVariables ?? []),
    variable,
  )[0]?.source;
  const vendor = findVendor(baseUrl);
  if (
    withheld !== undefined &&
    vendor !== undefined &&
    vendor !== provider &&
    !keyVariablesOf(vendor)?.includes(withheld)
  )
    return {
      withheld,
      text: `${withheld} was not sent, because ${hostOf(baseUrl)} belongs to ${vendor}. ${howToAddKey(vendor, undefined, PROVIDER_PROFILES[vendor])}`,
    };
  if (addressKey === "model.base_url") {
    const { stored, ofKey } = settings.modelAddress;
    const how = isSameServer(baseUrl, stored)
      ? "Store the key for this address with `hermes config set model.api_key`."
      : "Give the key together with the address, as HERMES_MODEL_API_KEY and HERMES_MODEL_BASE_URL.";
    if (settings.model.api_key.trim() !== "") {
      const owner = ofKey === "" ? "the address that it was stored with" : hostOf(ofKey);
      return {
        withheld: "model.api_key",
        text: `model.api_key was not sent, because it is for ${owner} only. ${how}`,
      };
    }
    if (withheld === undefined) return { text: how };
    const why =
      provider === "custom"
        ? "this address is not encrypted"
        : `it is for ${hostOf(profile?.baseUrl ?? baseUrl)} and for providers.${provider}.base_url only`;
    return { withheld, text: `${withheld} was not sent, because ${why}. ${how}` };
  }
  if (named?.key_env === undefined && (profile === undefined || profile.keyVariables.length === 0))
    return {
      text: `Name the variable that holds its key: \`hermes config set providers.${provider}.key_env NAME\`.`,
    };
  if (named?.key_env === undefined && withheld !== undefined)
    return {
      withheld,
      text: `${withheld} was not sent, because ${addressKey} is not encrypted. Use https, or allow it anyway with \`hermes config set providers.${provider}.key_env ${withheld}\`.`,
    };
  return { text: howToAddKey(provider, named?.key_env, profile) };
}

function howToAddKey(provider: string, keyEnv: string | undefined, profile: ProviderProfile | undefined) {
  const variables = keyEnv === undefined ? (profile?.keyVariables ?? []) : [keyEnv];
  return `Add it with \`hermes auth add ${provider}\`, or put ${variables.join(" or ")} into the environment.`;
}

/** The wire format that the session or the settings name. */
function findSetMode(
  { model, providers }: RouteSettings,
  { provider, usesModelSettings }: ProviderChoice,
  ofSession: string | undefined,
): ApiMode | undefined {
  const named = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const explicit =
    ofSession ??
    (usesModelSettings && model.api_mode !== "auto" ? model.api_mode : undefined) ??
    named?.api_mode;
  return API_MODES.find((mode) => mode === explicit);
}

/** The wire format of the provider and the model; for an unnamed server, the one that its address suggests. */
function chooseMode(
  provider: string,
  profile: ProviderProfile,
  { baseUrl, model }: { readonly baseUrl: string; readonly model: string },
): ApiMode {
  const { hostname, pathname } = new URL(baseUrl);
  if (isSameServer(baseUrl, profile.baseUrl) && profile.responsesModels?.test(model))
    return "codex_responses";
  if (provider !== "custom" && findProviderProfile(provider) !== undefined) {
    const isChat = profile.chatBaseUrl !== undefined && /\/openai\/?$/.test(pathname);
    return isChat ? "chat_completions" : profile.apiMode;
  }
  if (hostname === "api.anthropic.com" || /\/anthropic(?:\/v1)?\/?$/.test(pathname))
    return "anthropic_messages";
  const isGoogle = isSameServer(baseUrl, PROVIDER_PROFILES.gemini.baseUrl) && !/\/openai\/?$/.test(pathname);
  return isGoogle ? "google_generate" : profile.apiMode;
}

const OLLAMA_PORT = "11434";

/** Whether the server of a route is Ollama, judged by its provider or, without a profile, by its port. */
export function isOllamaRoute({ provider, baseUrl }: Pick<Route, "provider" | "baseUrl">): boolean {
  if (provider === "ollama") return true;
  return (
    findProviderProfile(provider)?.baseUrl === undefined &&
    baseUrl !== "" &&
    new URL(baseUrl).port === OLLAMA_PORT
  );
}

/** If a window is set, uses Ollama's own API, because its OpenAI-compatible one takes no window. */
function toOllamaMode(mode: ApiMode, provider: string, baseUrl: string, { model }: RouteSettings): ApiMode {
  const isOllama = isOllamaRoute({ provider, baseUrl });
  return isOllama && mode === "chat_completions" && model.ollama_num_ctx !== null ? "ollama_chat" : mode;
}

function scriptedRoute(model: string, contextTokens: number | null): Route {
  return {
    provider: "scripted",
    profile: "scripted",
    model,
    apiMode: "scripted",
    baseUrl: "",
    addressKey: "",
    keys: [],
    key: undefined,
    keySource: undefined,
    keyHint: undefined,
    withheldKey: undefined,
    headers: {},
    requestOverrides: {},
    timeouts: { staleMs: 180_000, requestMs: 1_800_000 },
    connectTimeoutMs: undefined,
    caFile: undefined,
    verifiesTls: true,
    configured: { contextTokens: contextTokens ?? undefined },
    contextTokens: contextTokens ?? undefined,
    contextSource: contextTokens === null ? "default" : "setting",
    price: undefined,
  };
}

function modelSettings(
  models: z.infer<typeof providersOption>[string]["models"],
  model: string,
): Readonly<Record<string, unknown>> {
  if (models === undefined || Array.isArray(models)) return {};
  return (Object.hasOwn(models, model) ? models[model] : undefined) ?? {};
}

/** The settings below `providers` for one model. */
export function factsInSettings(
  { providers }: Pick<RouteSettings, "providers">,
  provider: string,
  model: string,
): Route["configured"] {
  const named = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return factsOf(modelSettings(named?.models, model));
}

function factsOf(ofModel: Readonly<Record<string, unknown>>): Route["configured"] {
  return { contextTokens: positive(ofModel["context_length"]), price: priceOf(ofModel["price"]) };
}

/** Parses a configured price; without cache prices, cached tokens cost as much as input. */
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
