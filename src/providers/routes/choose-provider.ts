import type { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { findClosest } from "../../lib/text/did-you-mean.ts";
import type { modelOptions, providersOption } from "../options.ts";
import { listKeyVariables } from "../pool/pool-key.ts";
import {
  findProviderProfile,
  PROVIDER_ALIASES,
  PROVIDER_PROFILES,
  UNSUPPORTED_PROVIDERS,
} from "./profiles.ts";

interface ProviderSettings {
  readonly model: z.infer<typeof modelOptions>;
  readonly providers: z.infer<typeof providersOption>;
}

export interface RouteSettings extends ProviderSettings {
  /** `model.base_url` as three kinds of layers set it; empty if unset. */
  readonly modelAddress: {
    /** In config.yaml or .env, regardless of flags and environment variables. */
    readonly stored: string;
    /** In the layer of `model.api_key`, or else in a weaker layer: the address that the key was meant for. */
    readonly ofKey: string;
    /** In a flag or an environment variable of this run. */
    readonly ofRun: string;
  };
}

/** A model that a flag or a chat command requests instead of the configured one. */
export interface RouteRequest {
  /** `name`, `provider:model`, `custom`, `custom:model`, `custom:<name>:model` or an alias. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** The address and format of a resumed session, which replace the settings; its model name is no alias any more. */
  readonly kept?: { readonly address: string | undefined; readonly apiMode: string | undefined };
}

export interface ProviderChoice {
  readonly provider: string;
  /** Undefined for the provider's own default model. */
  readonly model: string | undefined;
  /** Whether the address, key, format and window below `model` in the settings apply to this provider. */
  readonly usesModelSettings: boolean;
}

/** Reads an environment variable or a secret of the user's profile. */
export type ReadVariable = (name: string) => string | undefined;

/** Chooses the provider. An unknown provider is an error; it never falls back to another provider. */
export function chooseProvider(
  settings: ProviderSettings,
  request: RouteRequest,
  variable: ReadVariable,
): ProviderChoice {
  const configured = { ...settings.model, provider: ownNameOf(settings.model.provider, settings) };
  const activeProvider = findActiveProvider(settings, variable);
  const requested = parseRouteRequest(settings, request, activeProvider);
  if (requested.provider !== undefined) {
    const { provider } = requested;
    // `custom` means the configured address without a name.
    const usesModelSettings =
      provider === configured.provider || (provider === "custom" && configured.base_url !== "");
    return {
      provider,
      model: requested.model ?? defaultModelOf(provider, usesModelSettings, settings),
      usesModelSettings,
    };
  }
  const named =
    requested.model === undefined
      ? splitOptionalProvider(unalias(configured.default, configured.aliases), settings, activeProvider)
      : requested;
  if (named.provider !== undefined) {
    const { provider, model } = named;
    const usesModelSettings =
      provider === configured.provider || (provider === "custom") === (configured.base_url !== "");
    return { provider, model, usesModelSettings };
  }
  if (activeProvider === undefined) throw noProvider();
  const provider = requireProvider(activeProvider, settings);
  return { provider, model: named.model === "" ? undefined : named.model, usesModelSettings: true };
}

/** The configured default model, if it is one of this provider. */
function defaultModelOf(
  provider: string,
  usesModelSettings: boolean,
  settings: ProviderSettings,
): string | undefined {
  const name = unalias(settings.model.default, settings.model.aliases);
  const named = splitProvider(name, settings);
  if (named !== undefined) return named.provider === provider ? named.model : undefined;
  return (usesModelSettings && name) || undefined;
}

/** The provider and model that a request names. If it names a provider, its model is used unchanged unless it is an alias. */
export function parseRouteRequest(
  settings: ProviderSettings,
  { model, provider, kept }: RouteRequest,
  activeProvider: string | undefined,
): NamedModel {
  const { aliases } = settings.model;
  if (provider === undefined)
    return model === undefined
      ? { provider, model }
      : parseRequestedModel(unalias(model, aliases), settings, activeProvider);
  const known = requireProvider(provider, settings);
  if (kept !== undefined || model === undefined || !Object.hasOwn(aliases, model))
    return { provider: known, model };
  const target = unalias(model, aliases);
  const named = splitProvider(target, settings);
  if (named === undefined || named.provider === known)
    return { provider: known, model: named === undefined ? target : named.model };
  throw new AppError("provider-unknown", `${model} means ${target}, which is not a model of ${known}.`, {
    hint: `Omit \`--provider ${provider}\`, or name a model of ${known}.`,
  });
}

/** Throws `provider-unknown` if the request names a provider that is neither built in nor configured. */
export function requireKnownProvider(
  settings: ProviderSettings,
  request: RouteRequest,
  variable: ReadVariable,
): void {
  parseRouteRequest(settings, request, findActiveProvider(settings, variable));
}

/** What a text names. Without a provider, the model is one of the active provider. */
interface NamedModel {
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

/**
 * Parses the name of a requested model. If the prefix could be either a provider or the start of a model name, that is an
 * error, because only the user can decide.
 */
function parseRequestedModel(
  text: string,
  settings: ProviderSettings,
  activeProvider: string | undefined,
): NamedModel {
  const onlyProvider = text === "custom" ? undefined : findProvider(text, settings);
  if (onlyProvider !== undefined)
    throw new AppError("provider-unknown", `${text} is a provider, not a model.`, {
      hint: `Write ${onlyProvider}:NAME, or \`--provider ${onlyProvider}\` to use its default model.`,
    });
  const named = splitOptionalProvider(text, settings, activeProvider);
  const prefixProvider = PROVIDER_ALIASES.get(textBeforeColon(text) ?? "");
  if (named.provider !== undefined || prefixProvider === undefined || activeProvider === undefined)
    return named;
  const server = settings.model.base_url || activeProvider;
  throw new AppError("provider-unknown", `${text} could be a model of ${prefixProvider} or of ${server}.`, {
    hint: `Write ${prefixProvider}${text.slice(text.indexOf(":"))}, or \`--provider ${activeProvider} -m ${text}\`.`,
  });
}

/**
 * Splits off a provider prefix if there is one. Model names of custom servers, such as `qwen3:8b`, may contain a colon
 * themselves.
 */
function splitOptionalProvider(
  text: string,
  settings: ProviderSettings,
  activeProvider: string | undefined,
): NamedModel {
  const split = splitProvider(text, settings);
  const prefix = textBeforeColon(text);
  if (split !== undefined || prefix === undefined) return split ?? { provider: undefined, model: text };
  const known = [...Object.keys(PROVIDER_PROFILES), ...Object.keys(settings.providers)];
  const aliased = PROVIDER_ALIASES.get(prefix);
  const mayBeModelName = mayBeModelOf(activeProvider, text, settings);
  if (aliased !== undefined && !mayBeModelName)
    return { provider: aliased, model: text.slice(prefix.length + 1) || undefined };
  // Never send a name that looks like a provider prefix to another provider.
  if (!mayBeModelName || UNSUPPORTED_PROVIDERS.includes(prefix) || findClosest(prefix, known) !== undefined)
    throw unknownProvider(prefix, known, `--provider NAME -m ${text}`);
  return { provider: undefined, model: text };
}

/** Splits `provider:model` for a built-in or configured provider; undefined if the text starts with neither. */
function splitProvider(text: string, settings: ProviderSettings): NamedModel | undefined {
  const colon = text.indexOf(":");
  const [prefix, rest] = colon === -1 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  if (prefix === "custom") {
    const second = rest.indexOf(":");
    const name = second === -1 ? rest : rest.slice(0, second);
    if (Object.hasOwn(settings.providers, name))
      return { provider: name, model: second === -1 ? undefined : rest.slice(second + 1) };
    // `custom:qwen3:8b` could be a model too, but a mistyped server name must never reach another server.
    if (second !== -1) throw unknownProvider(name, Object.keys(settings.providers));
    return { provider: "custom", model: rest === "" ? undefined : rest };
  }
  const isKnown = Object.hasOwn(settings.providers, prefix) || findProviderProfile(prefix) !== undefined;
  return colon !== -1 && isKnown ? { provider: prefix, model: rest === "" ? undefined : rest } : undefined;
}

/** The text before the first colon, if it could name a provider; undefined for `qwen/qwen3:free`. */
function textBeforeColon(text: string): string | undefined {
  return /^([\w.-]+):/.exec(text)?.[1];
}

/** Whether a name with a colon may be a complete model name of the provider, colon included. */
function mayBeModelOf(provider: string | undefined, name: string, { model }: ProviderSettings): boolean {
  if (model.base_url !== "") return true;
  if (provider === undefined) return false;
  const profile = findProviderProfile(provider);
  return profile === undefined || (profile.colonNames?.test(name) ?? false);
}

/** The provider to use if the request names none; undefined if none is configured. */
function findActiveProvider(settings: ProviderSettings, variable: ReadVariable): string | undefined {
  const { provider, base_url: baseUrl } = settings.model;
  if (provider !== "auto") return ownNameOf(provider, settings);
  return baseUrl === "" ? findUsableProvider(settings, variable) : "custom";
}

/** Maps another program's name for a provider to ours, unless a configured server has that name. */
function ownNameOf(name: string, { providers }: ProviderSettings): string {
  return (Object.hasOwn(providers, name) ? undefined : PROVIDER_ALIASES.get(name)) ?? name;
}

/** Our name of a provider, or undefined if it is neither built in nor configured. */
function findProvider(name: string, settings: ProviderSettings): string | undefined {
  const own = ownNameOf(name, settings);
  return Object.hasOwn(settings.providers, own) || findProviderProfile(own) !== undefined ? own : undefined;
}

/** Like `findProvider`, also for `custom:NAME`; throws `provider-unknown`. */
export function requireProvider(id: string, settings: ProviderSettings): string {
  const name = id.startsWith("custom:") ? id.slice("custom:".length) : id;
  const isOwnServer = Object.hasOwn(settings.providers, name);
  const found = isOwnServer ? name : findProvider(id, settings);
  if (found !== undefined) return found;
  throw unknownProvider(name, [...Object.keys(PROVIDER_PROFILES), ...Object.keys(settings.providers)]);
}

/** `wholeName`: the options that use the text as a complete model name, if it may be one. */
function unknownProvider(name: string, known: readonly string[], wholeName = ""): AppError {
  if (UNSUPPORTED_PROVIDERS.includes(name)) {
    return new AppError("provider-unknown", `The provider ${name} cannot be used yet.`, {
      hint: `Use one of ${Object.keys(PROVIDER_PROFILES).join(", ")}, or add its address below \`providers\`.`,
    });
  }
  const closest = findClosest(name, known);
  const advice =
    closest === undefined
      ? `Use one of ${known.join(", ") || "the built-in ones"}; to`
      : `Did you mean ${closest}? To`;
  const ifWholeName =
    wholeName === "" ? "" : ` If that is a complete model name, name its provider: \`${wholeName}\`.`;
  const hint = `${advice} use your own server, such as Ollama, set model.base_url or add it below \`providers\`.${ifWholeName}`;
  return new AppError("provider-unknown", `There is no provider named ${name}.`, { hint });
}

function unalias(name: string, aliases: Readonly<Record<string, string>>): string {
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

/** The first built-in provider that has a key, or else the only configured server. */
function findUsableProvider(settings: ProviderSettings, variable: ReadVariable): string | undefined {
  for (const [id, { keyVariables }] of Object.entries(PROVIDER_PROFILES))
    if (listKeyVariables(keyVariables).some((name) => variable(name)?.trim())) return id;
  const [first, ...others] = Object.keys(settings.providers);
  return others.length === 0 ? first : undefined;
}

function noProvider(): AppError {
  const variables = Object.values(PROVIDER_PROFILES).flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  return new AppError("provider-key-missing", "No model provider is set up.", {
    hint: `Run \`hermes setup\` in a terminal, or put a key (${variables.slice(0, 3).join(", ")}, …) into the environment.`,
  });
}
