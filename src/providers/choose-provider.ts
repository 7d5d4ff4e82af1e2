import type { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";
import type { modelOptions, providersOption } from "./options.ts";
import { findProfile, PROFILES, UNBUILT_PROVIDERS } from "./profiles.ts";

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
  const configured = settings.model;
  const wanted = request.model === undefined ? undefined : unalias(request.model, configured.aliases);
  if (request.provider !== undefined) {
    const provider = requireProvider(request.provider, settings);
    // An address without a name is what `custom` means, whoever wrote that name down.
    const isConfigured =
      provider === configured.provider || (provider === "custom" && configured.base_url !== "");
    // The model of the settings belongs to the provider of the settings.
    return { provider, model: wanted ?? (isConfigured ? configured.default : undefined), isConfigured };
  }
  const named = parseChoice(wanted ?? unalias(configured.default, configured.aliases), settings);
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
  const provider =
    configured.provider === "auto"
      ? configured.base_url === ""
        ? findByKey(settings, variable)
        : "custom"
      : requireProvider(configured.provider, settings);
  return { provider, model: named.model === "" ? undefined : named.model, isConfigured: true };
}

/** Throws `provider-unknown` when a provider is named that neither we nor the settings know. */
export function requireKnownProvider(settings: RouteSettings, { model, provider }: RouteRequest): void {
  if (provider !== undefined) requireProvider(provider, settings);
  else if (model !== undefined) parseChoice(unalias(model, settings.model.aliases), settings);
}

/** Splits off the provider, if one is named; a name such as `qwen3:8b` has a colon of its own. */
function parseChoice(
  text: string,
  settings: RouteSettings,
): { provider: string | undefined; model: string | undefined } {
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
  // What looks like a mistyped provider is none of the default provider's business.
  if (UNBUILT_PROVIDERS.includes(head) || closest(head, known) !== undefined)
    throw unknownProvider(head, known);
  return { provider: undefined, model: text };
}

function requireProvider(id: string, settings: RouteSettings): string {
  const names = Object.keys(settings.providers);
  const name = id.startsWith("custom:") ? id.slice("custom:".length) : id;
  if (Object.hasOwn(settings.providers, name)) return name;
  if (findProfile(id) !== undefined) return id;
  throw unknownProvider(name, [...Object.keys(PROFILES), ...names]);
}

function unknownProvider(name: string, known: readonly string[]): AppError {
  if (UNBUILT_PROVIDERS.includes(name)) {
    return new AppError("provider-unknown", `The provider ${name} cannot be used yet.`, {
      hint: `Use one of ${Object.keys(PROFILES).join(", ")}, or add its address below \`providers\`.`,
    });
  }
  const meant = closest(name, known);
  const question = meant === undefined ? "" : `Did you mean ${meant}? `;
  const hint = `${question}Use one of ${known.join(", ") || "the built-in ones"}; a server of your own goes below \`providers\`.`;
  return new AppError("provider-unknown", `There is no provider named ${name}.`, { hint });
}

function unalias(name: string, aliases: Readonly<Record<string, string>>): string {
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

function findByKey(settings: RouteSettings, variable: Variable): string {
  for (const [id, { keyVariables }] of Object.entries(PROFILES))
    if (keyVariables.some((name) => variable(name))) return id;
  const [own, ...others] = Object.keys(settings.providers);
  if (own !== undefined && others.length === 0) return own;
  const variables = Object.values(PROFILES).flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  throw new AppError("provider-key-missing", "No model provider is set up.", {
    hint: `Store a key with \`hermes config set ${variables[0]}\` (or ${variables.slice(1, 3).join(", ")}, …), or set model.provider and model.base_url.`,
  });
}
