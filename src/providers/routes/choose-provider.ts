import type { z } from "zod";
import { AppError } from "../../lib/errors.ts";
import { findClosest } from "../../lib/text/did-you-mean.ts";
import type { modelOptions, providersOption } from "../options.ts";
import { listKeyVariables } from "../pool/pool-key.ts";
import { findProfile, PROFILES, PROVIDER_ALIASES, UNSUPPORTED_PROVIDERS } from "./profiles.ts";

interface ProviderSettings {
  readonly model: z.infer<typeof modelOptions>;
  readonly providers: z.infer<typeof providersOption>;
}

export interface RouteSettings extends ProviderSettings {
  /** The value of `model.base_url` in each layer; empty if there is none. */
  readonly modelAddress: {
    /** `model.base_url` of config.yaml or .env, regardless of flags and environment variables. */
    readonly stored: string;
    /** The address that `model.api_key` belongs to, which is set in the layer of the key or in a weaker one. */
    readonly ofKey: string;
    /** `model.base_url` of a flag or an environment variable of this run. */
    readonly ofRun: string;
  };
}

/** A model that a flag or a chat command requests instead of the configured one. */
export interface RouteRequest {
  /** `name`, `provider:model`, `custom`, `custom:model`, `custom:<name>:model` or an alias. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** The address and format of a resumed session, which replace the settings. Model names are not resolved again. */
  readonly kept?: { readonly address: string | undefined; readonly apiMode: string | undefined };
}

export interface ProviderChoice {
  readonly provider: string;
  /** Undefined means the provider's own default. */
  readonly model: string | undefined;
  /** Whether `model.base_url` applies to this provider. */
  readonly isConfigured: boolean;
}

/** Reads an environment variable, including secrets of the profile. */
export type Variable = (name: string) => string | undefined;

/** Chooses the provider. An unknown provider is an error; it never falls back to another provider. */
export function chooseProvider(
  settings: ProviderSettings,
  request: RouteRequest,
  variable: Variable,
): ProviderChoice {
  const configured = { ...settings.model, provider: ownNameOf(settings.model.provider, settings) };
  const activeProvider = findActiveProvider(settings, variable);
  const requested = parseRouteRequest(settings, request, activeProvider);
  if (requested.provider !== undefined) {
    const { provider } = requested;
    // `custom` means the configured address without a name.
    const isConfigured =
      provider === configured.provider || (provider === "custom" && configured.base_url !== "");
    return {
      provider,
      model: requested.model ?? defaultModelOf(provider, isConfigured, settings),
      isConfigured,
    };
  }
  const named =
    requested.model === undefined
      ? parseChoice(unalias(configured.default, configured.aliases), settings, activeProvider)
      : requested;
  if (named.provider !== undefined) {
    const { provider, model } = named;
    const isConfigured =
      provider === configured.provider || (provider === "custom") === (configured.base_url !== "");
    return { provider, model, isConfigured };
  }
  if (activeProvider === undefined) throw noProvider();
  const provider = requireProvider(activeProvider, settings);
  return { provider, model: named.model === "" ? undefined : named.model, isConfigured: true };
}

/** The configured default model, if it belongs to this provider. */
function defaultModelOf(
  provider: string,
  isConfigured: boolean,
  settings: ProviderSettings,
): string | undefined {
  const name = unalias(settings.model.default, settings.model.aliases);
  const named = splitProvider(name, settings);
  if (named !== undefined) return named.provider === provider ? named.model : undefined;
  return (isConfigured && name) || undefined;
}

/** Parses a request. If it names a provider, the model name is used unchanged unless it is an alias. */
export function parseRouteRequest(
  settings: ProviderSettings,
  { model, provider, kept }: RouteRequest,
  activeProvider: string | undefined,
): NamedChoice {
  const { aliases } = settings.model;
  if (provider === undefined)
    return model === undefined
      ? { provider, model }
      : parseRequest(unalias(model, aliases), settings, activeProvider);
  const known = requireProvider(provider, settings);
  if (kept !== undefined || model === undefined || !Object.hasOwn(aliases, model))
    return { provider: known, model };
  const meant = unalias(model, aliases);
  const named = splitProvider(meant, settings);
  if (named === undefined || named.provider === known)
    return { provider: known, model: named === undefined ? meant : named.model };
  throw new AppError("provider-unknown", `${model} means ${meant}, which is not a model of ${known}.`, {
    hint: `Omit \`--provider ${provider}\`, or name a model of ${known}.`,
  });
}

/** Throws `provider-unknown` if the request names a provider that is neither built in nor configured. */
export function requireKnownProvider(
  settings: ProviderSettings,
  request: RouteRequest,
  variable: Variable,
): void {
  parseRouteRequest(settings, request, findActiveProvider(settings, variable));
}

interface NamedChoice {
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

/** Parses a requested model. A prefix that may be a part of the name or a vendor is an error, because only the user can decide. */
function parseRequest(
  text: string,
  settings: ProviderSettings,
  activeProvider: string | undefined,
): NamedChoice {
  const alone = text === "custom" ? undefined : findProvider(text, settings);
  if (alone !== undefined)
    throw new AppError("provider-unknown", `${text} is a provider, not a model.`, {
      hint: `Write ${alone}:NAME, or \`--provider ${alone}\` to use its default model.`,
    });
  const named = parseChoice(text, settings, activeProvider);
  const meant = PROVIDER_ALIASES.get(headOf(text) ?? "");
  if (named.provider !== undefined || meant === undefined || activeProvider === undefined) return named;
  const server = settings.model.base_url || activeProvider;
  throw new AppError("provider-unknown", `${text} could be a model of ${meant} or of ${server}.`, {
    hint: `Write ${meant}${text.slice(text.indexOf(":"))}, or \`--provider ${activeProvider} -m ${text}\`.`,
  });
}

/** Splits off a provider prefix. Model names of custom servers, such as `qwen3:8b`, may contain a colon themselves. */
function parseChoice(
  text: string,
  settings: ProviderSettings,
  activeProvider: string | undefined,
): NamedChoice {
  const split = splitProvider(text, settings);
  const head = headOf(text);
  if (split !== undefined || head === undefined) return split ?? { provider: undefined, model: text };
  const known = [...Object.keys(PROFILES), ...Object.keys(settings.providers)];
  const other = PROVIDER_ALIASES.get(head);
  const mayBeModelName = mayBeModelOf(activeProvider, text, settings);
  if (other !== undefined && !mayBeModelName)
    return { provider: other, model: text.slice(head.length + 1) || undefined };
  // Never send a name that looks like a provider prefix to another provider.
  if (!mayBeModelName || UNSUPPORTED_PROVIDERS.includes(head) || findClosest(head, known) !== undefined)
    throw unknownProvider(head, known, `--provider NAME -m ${text}`);
  return { provider: undefined, model: text };
}

/** Splits `provider:model` for a built-in or configured provider; undefined if the text starts with neither. */
function splitProvider(text: string, settings: ProviderSettings): NamedChoice | undefined {
  const colon = text.indexOf(":");
  const [head, rest] = colon === -1 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  if (head === "custom") {
    const second = rest.indexOf(":");
    const name = second === -1 ? rest : rest.slice(0, second);
    if (Object.hasOwn(settings.providers, name))
      return { provider: name, model: second === -1 ? undefined : rest.slice(second + 1) };
    // `custom:qwen3:8b` could be a model too, but a mistyped server name must never reach another server.
    if (second !== -1) throw unknownProvider(name, Object.keys(settings.providers));
    return { provider: "custom", model: rest === "" ? undefined : rest };
  }
  const isKnown = Object.hasOwn(settings.providers, head) || findProfile(head) !== undefined;
  return colon !== -1 && isKnown ? { provider: head, model: rest === "" ? undefined : rest } : undefined;
}

/** The text before the colon, if it could name a provider; `qwen/qwen3:free` has none. */
function headOf(text: string): string | undefined {
  return /^([\w.-]+):/.exec(text)?.[1];
}

/** Whether a name with a colon may be a complete model name of the provider. */
function mayBeModelOf(provider: string | undefined, name: string, { model }: ProviderSettings): boolean {
  if (model.base_url !== "") return true;
  if (provider === undefined) return false;
  const profile = findProfile(provider);
  return profile === undefined || (profile.colonNames?.test(name) ?? false);
}

/** The provider to use if the request names none; undefined if none is configured. */
function findActiveProvider(settings: ProviderSettings, variable: Variable): string | undefined {
  const { provider, base_url: baseUrl } = settings.model;
  if (provider !== "auto") return ownNameOf(provider, settings);
  return baseUrl === "" ? findByKey(settings, variable) : "custom";
}

/** Maps another program's name for a provider to ours, unless a configured server has that name. */
function ownNameOf(name: string, { providers }: ProviderSettings): string {
  return (Object.hasOwn(providers, name) ? undefined : PROVIDER_ALIASES.get(name)) ?? name;
}

function findProvider(name: string, settings: ProviderSettings): string | undefined {
  const own = ownNameOf(name, settings);
  return Object.hasOwn(settings.providers, own) || findProfile(own) !== undefined ? own : undefined;
}

/** Our name of a provider; throws `provider-unknown`. */
export function requireProvider(id: string, settings: ProviderSettings): string {
  const name = id.startsWith("custom:") ? id.slice("custom:".length) : id;
  const isNamed = Object.hasOwn(settings.providers, name);
  const found = isNamed ? name : findProvider(id, settings);
  if (found !== undefined) return found;
  throw unknownProvider(name, [...Object.keys(PROFILES), ...Object.keys(settings.providers)]);
}

function unknownProvider(name: string, known: readonly string[], wholeName = ""): AppError {
  if (UNSUPPORTED_PROVIDERS.includes(name)) {
    return new AppError("provider-unknown", `The provider ${name} cannot be used yet.`, {
      hint: `Use one of ${Object.keys(PROFILES).join(", ")}, or add its address below \`providers\`.`,
    });
  }
  const meant = findClosest(name, known);
  const choice =
    meant === undefined
      ? `Use one of ${known.join(", ") || "the built-in ones"}; to`
      : `Did you mean ${meant}? To`;
  const whole =
    wholeName === "" ? "" : ` If that is a complete model name, name its provider: \`${wholeName}\`.`;
  const hint = `${choice} use your own server, such as Ollama, set model.base_url or add it below \`providers\`.${whole}`;
  return new AppError("provider-unknown", `There is no provider named ${name}.`, { hint });
}

function unalias(name: string, aliases: Readonly<Record<string, string>>): string {
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

function findByKey(settings: ProviderSettings, variable: Variable): string | undefined {
  for (const [id, { keyVariables }] of Object.entries(PROFILES))
    if (listKeyVariables(keyVariables).some((name) => variable(name)?.trim())) return id;
  const [own, ...others] = Object.keys(settings.providers);
  return others.length === 0 ? own : undefined;
}

function noProvider(): AppError {
  const variables = Object.values(PROFILES).flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  return new AppError("provider-key-missing", "No model provider is set up.", {
    hint: `Run \`hermes setup\` in a terminal, or put a key (${variables.slice(0, 3).join(", ")}, …) into the environment.`,
  });
}
