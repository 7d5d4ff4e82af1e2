import type { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";
import type { modelOptions, providersOption } from "./options.ts";
import { findProfile, OTHER_NAMES, PROFILES, UNBUILT_PROVIDERS } from "./profiles.ts";

export interface RouteSettings {
  readonly model: z.infer<typeof modelOptions>;
  readonly providers: z.infer<typeof providersOption>;
}

/** What was asked for beside the settings, by a flag or in a chat. */
export interface RouteRequest {
  /** `name`, `provider:model`, `custom`, `custom:model`, `custom:<name>:model` or an alias. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
}

/** Who is asked, and for which model. */
export interface Choice {
  readonly provider: string;
  /** Undefined means the provider's own default. */
  readonly model: string | undefined;
  /** Whether `model.base_url` and `model.api_key` were meant for this provider. */
  readonly isConfigured: boolean;
}

/** The value of an environment variable, secrets of the profile included. */
export type Variable = (name: string) => string | undefined;

/** Decides whom to ask. An unknown provider is an error, never a reason to ask another one. */
export function chooseProvider(settings: RouteSettings, request: RouteRequest, variable: Variable): Choice {
  const configured = { ...settings.model, provider: ownNameOf(settings.model.provider, settings) };
  const wanted = request.model === undefined ? undefined : unalias(request.model, configured.aliases);
  if (request.provider !== undefined) {
    const provider = requireProvider(request.provider, settings);
    // An address without a name is what `custom` means, whoever wrote that name down.
    const isConfigured =
      provider === configured.provider || (provider === "custom" && configured.base_url !== "");
    // The model of the settings belongs to the provider of the settings.
    return { provider, model: wanted ?? (isConfigured ? configured.default : undefined), isConfigured };
  }
  const inForce = findInForce(settings, variable);
  const named =
    wanted === undefined
      ? parseChoice(unalias(configured.default, configured.aliases), settings, inForce)
      : parseRequest(wanted, settings, inForce);
  if (named.provider !== undefined) {
    const { provider, model } = named;
    const isConfigured =
      provider === configured.provider ||
      (provider === "custom"
        ? configured.base_url !== ""
        : wanted === undefined && configured.base_url === "");
    return {
      provider,
      model: model ?? (wanted !== undefined && isConfigured ? configured.default : undefined),
      isConfigured,
    };
  }
  if (inForce === undefined) throw noProvider();
  const provider = requireProvider(inForce, settings);
  return { provider, model: named.model === "" ? undefined : named.model, isConfigured: true };
}

/** Throws `provider-unknown` when a provider is named that neither we nor the settings know. */
export function requireKnownProvider(
  settings: RouteSettings,
  { model, provider }: RouteRequest,
  variable: Variable,
): void {
  if (provider !== undefined) requireProvider(provider, settings);
  else if (model !== undefined)
    parseRequest(unalias(model, settings.model.aliases), settings, findInForce(settings, variable));
}

interface NamedChoice {
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

/** What a person asked for now, who may mean either by a name that could be a model's or a vendor's. */
function parseRequest(text: string, settings: RouteSettings, inForce: string | undefined): NamedChoice {
  const named = parseChoice(text, settings, inForce);
  const meant = OTHER_NAMES.get(headOf(text) ?? "");
  if (named.provider !== undefined || meant === undefined || inForce === undefined) return named;
  const server = settings.model.base_url || inForce;
  throw new AppError("provider-unknown", `${text} could be a model of ${meant} or of ${server}.`, {
    hint: `Write ${meant}${text.slice(text.indexOf(":"))}, or \`--provider ${inForce} -m ${text}\`.`,
  });
}

/** Splits off the provider, if one is named; at servers of one's own, names such as `qwen3:8b` have a colon themselves. */
function parseChoice(text: string, settings: RouteSettings, inForce: string | undefined): NamedChoice {
  const colon = text.indexOf(":");
  const [head, rest] = colon === -1 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  if (head === "custom") {
    const second = rest.indexOf(":");
    const name = second === -1 ? rest : rest.slice(0, second);
    if (Object.hasOwn(settings.providers, name))
      return { provider: name, model: second === -1 ? undefined : rest.slice(second + 1) };
    // `custom:qwen3:8b` would be a model too, but a wrong name must never reach another server.
    if (second !== -1) throw unknownProvider(name, Object.keys(settings.providers));
    return { provider: "custom", model: rest === "" ? undefined : rest };
  }
  if (colon === -1) return { provider: undefined, model: text };
  const known = [...Object.keys(PROFILES), ...Object.keys(settings.providers)];
  if (known.includes(head)) return { provider: head, model: rest === "" ? undefined : rest };
  const other = OTHER_NAMES.get(head);
  const mayBeWhole = headOf(text) === undefined || mayBeModelOf(inForce, text, settings);
  if (other !== undefined && !mayBeWhole) return { provider: other, model: rest === "" ? undefined : rest };
  // What looks like a provider is none of another provider's business.
  if (!mayBeWhole || UNBUILT_PROVIDERS.includes(head) || closest(head, known) !== undefined)
    throw unknownProvider(head, known, `--provider NAME -m ${text}`);
  return { provider: undefined, model: text };
}

/** What stands before the colon, if it could name a provider; a name such as `qwen/qwen3:free` begins with none. */
function headOf(text: string): string | undefined {
  return /^([\w.-]+):/.exec(text)?.[1];
}

/** Whether a name with a colon may be the whole name of a model there. */
function mayBeModelOf(provider: string | undefined, name: string, { model }: RouteSettings): boolean {
  if (model.base_url !== "") return true;
  if (provider === undefined) return false;
  const profile = findProfile(provider);
  return profile === undefined || (profile.colonNames?.test(name) ?? false);
}

/** Who is asked where nobody is named; undefined where nobody is set up. */
function findInForce(settings: RouteSettings, variable: Variable): string | undefined {
  const { provider, base_url: baseUrl } = settings.model;
  if (provider !== "auto") return ownNameOf(provider, settings);
  return baseUrl === "" ? findByKey(settings, variable) : "custom";
}

/** The name that we give a provider for one that others give it, unless a server of the settings has that name. */
function ownNameOf(name: string, { providers }: RouteSettings): string {
  return (Object.hasOwn(providers, name) ? undefined : OTHER_NAMES.get(name)) ?? name;
}

function requireProvider(id: string, settings: RouteSettings): string {
  const names = Object.keys(settings.providers);
  const name = id.startsWith("custom:") ? id.slice("custom:".length) : id;
  if (Object.hasOwn(settings.providers, name)) return name;
  const own = ownNameOf(id, settings);
  if (findProfile(own) !== undefined) return own;
  throw unknownProvider(name, [...Object.keys(PROFILES), ...names]);
}

function unknownProvider(name: string, known: readonly string[], wholeName = ""): AppError {
  if (UNBUILT_PROVIDERS.includes(name)) {
    return new AppError("provider-unknown", `The provider ${name} cannot be used yet.`, {
      hint: `Use one of ${Object.keys(PROFILES).join(", ")}, or add its address below \`providers\`.`,
    });
  }
  const meant = closest(name, known);
  const question = meant === undefined ? "" : `Did you mean ${meant}? `;
  const whole =
    wholeName === "" ? "" : ` If that is the whole name of a model, say whose it is: \`${wholeName}\`.`;
  const hint = `${question}Use one of ${known.join(", ") || "the built-in ones"}; a server of your own, such as Ollama, is set by model.base_url or goes below \`providers\`.${whole}`;
  return new AppError("provider-unknown", `There is no provider named ${name}.`, { hint });
}

function unalias(name: string, aliases: Readonly<Record<string, string>>): string {
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

function findByKey(settings: RouteSettings, variable: Variable): string | undefined {
  for (const [id, { keyVariables }] of Object.entries(PROFILES))
    if (keyVariables.some((name) => variable(name))) return id;
  const [own, ...others] = Object.keys(settings.providers);
  return others.length === 0 ? own : undefined;
}

function noProvider(): AppError {
  const variables = Object.values(PROFILES).flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  return new AppError("provider-key-missing", "No model provider is set up.", {
    hint: `Store a key with \`hermes config set ${variables[0]}\` (or ${variables.slice(1, 3).join(", ")}, …), or set model.provider and model.base_url.`,
  });
}
