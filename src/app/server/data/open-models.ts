import type { KeysAnswer, ModelsAnswer } from "../../../api/contract/setup/models.ts";
import type { ModelData } from "../../../api/dashboard/data/model-data.ts";
import { configKeys } from "../../../config/config-keys.ts";
import { addSecret, writeSecret, writeSettings } from "../../../config/files/write-setting.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log/log.ts";
import { createRedactor } from "../../../lib/redact/redactor.ts";
import { loadCatalogue, type ProviderModels } from "../../../providers/catalogue/load-catalogue.ts";
import type { CatalogueEntry } from "../../../providers/catalogue/merge-models.ts";
import { isCooling } from "../../../providers/pool/choose-key.ts";
import type { KeyStates } from "../../../providers/pool/key-states.ts";
import { listKeyVariables, parseKey } from "../../../providers/pool/pool-key.ts";
import { PROVIDER_PROFILES } from "../../../providers/routes/profiles.ts";
import { resolveRoute } from "../../../providers/routes/resolve-route.ts";
import type { App } from "../../app.ts";
import { createCatalogueParts } from "../../catalogue.ts";
import { findDefaultRoute, readRouteSettings } from "../../conversation.ts";
import { findModelChanges, requireKnown } from "../../default-model.ts";
import {
  keyVariablesOf,
  type ListedKey,
  listKeys,
  openAppKeyStates,
  requireFreeVariable,
  testProviderKey,
} from "../../provider-keys.ts";
import type { LoadProfile } from "./load-profile.ts";
import { shortPlace } from "./short-place.ts";

/** How long the server of a provider may take to send its list of models. */
const LIST_WITHIN_MS = 5_000;

/** The models and keys of all profiles of a home. */
export function openModels(appOf: LoadProfile, log: Pick<Log, "info" | "warn">): ModelData {
  const withStates = async <Result>(
    profile: string,
    work: (app: App, states: KeyStates) => Promise<Result>,
  ): Promise<Result> => {
    const app = await appOf(profile);
    using states = openAppKeyStates(app, (problem) => log.warn(problem, {}));
    return await work(app, states);
  };
  return {
    async models(profile, use, signal) {
      const app = await appOf(profile);
      const settings = readRouteSettings(app.resolved);
      const parts = createCatalogueParts(app, { settings, withinMs: LIST_WITHIN_MS });
      const groups = await loadCatalogue(parts, { provider: undefined, use, unusable: true }, signal);
      return toModels(app, groups);
    },
    async setDefault(profile, name, signal) {
      const app = await appOf(profile);
      const fixed = findFixed(app);
      if (fixed !== undefined)
        throw new AppError("setting-fixed", `The model is fixed by ${fixed}, so it was not changed.`);
      const settings = readRouteSettings(app.resolved);
      const parts = createCatalogueParts(app, { settings, withinMs: LIST_WITHIN_MS });
      const route = resolveRoute(settings, { model: name }, parts.variable);
      await requireKnown(parts, route, signal);
      const changes = findModelChanges(app, parts, route).map(({ key, to }) => [["model", key], to] as const);
      const { configPath, home } = app.profile;
      if (changes.length > 0) await writeSettings(configPath, home, changes, signal);
      return { model: route.model, provider: route.provider };
    },
    keys: (profile, signal) =>
      withStates(profile, async (app, states) => toKeys(app, await listKeys(app, states, undefined, signal))),
    async setKey(profile, variable, { value, replace }, signal) {
      const app = await appOf(profile);
      const { envPath, home } = app.profile;
      requireStorable(app, variable);
      const secret = isProviderKey(app, variable) ? parseTypedKey(value, variable) : parseTypedSecret(value);
      if (replace) await writeSecret(envPath, home, variable, secret, signal);
      else {
        const refuseStored = (isStored: (name: string) => boolean): string => {
          if (!isStored(variable)) return variable;
          throw new AppError("key-exists", `${variable} is set already, so nothing was changed.`, {
            hint: "Replace it instead.",
          });
        };
        await addSecret(envPath, home, refuseStored, secret, signal);
      }
      log.info("key set", { profile, variable });
    },
    async removeKey(profile, variable, signal) {
      const app = await appOf(profile);
      requireStorable(app, variable);
      if (app.resolved.variable(variable) === undefined) throw noKey(variable);
      await writeSecret(app.profile.envPath, app.profile.home, variable, undefined, signal);
      log.info("key removed", { profile, variable });
    },
    testKey: (profile, variable, signal) =>
      withStates(profile, async (app, states) => {
        const listed = await listKeys(app, states, undefined, signal);
        const found = listed.find(({ key }) => key.source === variable);
        if (found === undefined) throw noKey(variable);
        const { redact } = createRedactor({ secrets: app.resolved.secrets });
        try {
          const { provider, key } = found;
          const { failure, route } = await testProviderKey(app, states, { provider, key }, signal);
          const message = failure === undefined ? null : redact(`${failure.message} ${failure.hint}`);
          return { works: failure === undefined, model: route.model, message };
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          return { works: false, model: null, message: redact(`${error.message} ${error.hint}`) };
        }
      }),
  };
}

/** The flag or variable that overrides the model or provider of config.yaml. */
function findFixed({ resolved, profile }: App): string | undefined {
  const fixed = ["model.default", "model.provider"]
    .flatMap((key) => resolved.settings.get(key)?.layerValues ?? [])
    .find(({ origin, problem }) => origin !== "file" && problem === undefined);
  return fixed && shortPlace(fixed.where, profile);
}

function toModels(app: App, groups: readonly ProviderModels[]): Omit<ModelsAnswer, "at"> {
  const { resolved, profile } = app;
  const route = findDefaultRoute(resolved);
  const isMissing = route instanceof AppError;
  const named = resolved.settings
    .get("model.default")
    ?.layerValues.find(({ problem }) => problem === undefined);
  const toModel =
    ({ provider }: ProviderModels) =>
    ({
      name,
      isFavourite,
      ...facts
    }: CatalogueEntry): ModelsAnswer["providers"][number]["models"][number] => ({
      name,
      reference: `${provider}:${name}`,
      contextTokens: facts.contextTokens ?? null,
      maxOutputTokens: facts.maxOutputTokens ?? null,
      price: facts.price === undefined ? null : { input: facts.price.input, output: facts.price.output },
      vision: facts.vision ?? null,
      reasoning: facts.reasoning ?? null,
      isFavourite,
      isDefault: !isMissing && route.provider === provider && route.model === name,
    });
  return {
    current: isMissing
      ? null
      : {
          model: route.model,
          provider: route.provider,
          address: route.baseUrl,
          place: named === undefined ? null : shortPlace(named.where, profile),
          keyFrom: route.keySource ?? null,
        },
    problem: isMissing ? { text: route.message, hint: route.hint } : null,
    fixedBy: findFixed(app) ?? null,
    providers: groups.map((group) => ({
      provider: group.provider,
      isUsable: group.route !== undefined,
      listedAt: group.listedAt ?? null,
      problem: group.problem?.message ?? null,
      models: group.models.map(toModel(group)),
    })),
  };
}

function toKeys(app: App, listed: readonly ListedKey[]): Omit<KeysAnswer, "at"> {
  const { resolved } = app;
  const route = findDefaultRoute(resolved);
  const current = route instanceof AppError ? undefined : route.provider;
  const isSet = (variable: string): boolean => Boolean(resolved.variable(variable)?.trim());
  const rows = [...keyedProviders(app)].map(([provider, variables]) => ({
    provider,
    isCurrent: provider === current,
    keys: listed.filter((one) => one.provider === provider).map(toKey),
    nextVariable: findFree(variables[0], isSet),
  }));
  const rank = ({ keys, isCurrent }: KeysAnswer["providers"][number]): number =>
    isCurrent ? 0 : keys.length > 0 ? 1 : 2;
  return {
    providers: rows.toSorted((one, other) => rank(one) - rank(other)),
    isOverridden: resolved.config.model.api_key.trim() !== "",
  };
}

function toKey({ key, from, state }: ListedKey): KeysAnswer["providers"][number]["keys"][number] {
  const isOut = isCooling(state, Date.now());
  return {
    variable: key.source,
    isFixed: from === "environment",
    state: !isOut ? "ready" : state?.kind === "auth" ? "refused" : "cooling",
    coolingUntil: isOut ? (state?.coolingUntil ?? null) : null,
    usedAt: state?.usedAt ?? null,
  };
}

function findFree(name: string, isSet: (variable: string) => boolean): string | null {
  try {
    return requireFreeVariable(name, isSet);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** The providers that have variables for keys, and these variables. */
function keyedProviders({ resolved }: App): ReadonlyMap<string, readonly [string, ...string[]]> {
  const { providers } = resolved.config;
  const names = new Set([...Object.keys(PROVIDER_PROFILES), ...Object.keys(providers)]);
  return new Map(
    [...names].flatMap((name) => {
      const [first, ...others] = keyVariablesOf(name, providers);
      return first === undefined ? [] : [[name, [first, ...others]] as const];
    }),
  );
}

function isProviderKey(app: App, variable: string): boolean {
  return [...keyedProviders(app).values()].some((names) => listKeyVariables(names).includes(variable));
}

/** Throws unless the variable belongs to a key or a secret setting that `.env` can set. */
function requireStorable(app: App, variable: string): void {
  const isSecret = configKeys().some(({ secret, env }) => secret && env.includes(variable));
  if (!isSecret && !isProviderKey(app, variable)) throw noKey(variable);
  if (app.variables[variable] !== undefined)
    throw new AppError("setting-fixed", `${variable} is set in the environment of the dashboard.`, {
      hint: "Change it where it is set, then start the dashboard again.",
    });
}

function noKey(variable: string): AppError {
  // The name is repeated only if it looks like one, because it may be a key that was pasted by mistake.
  const name = /^[A-Z][A-Z0-9_]{0,80}$/.test(variable) ? variable : "of that name";
  return new AppError("key-not-found", `There is no key ${name}.`, {
    hint: "Name the variable of a provider's key or of a secret setting.",
  });
}

function parseTypedKey(text: string, variable: string): string {
  const trimmed = text.trim();
  if (/\s/.test(trimmed))
    throw new AppError("key-invalid", "The key contains a space or a line break, so it was not stored.");
  const key = parseKey(trimmed, variable);
  if (key === undefined) throw new AppError("key-invalid", "The key is empty, so it was not stored.");
  return key.value;
}

function parseTypedSecret(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") throw new AppError("key-invalid", "The text is empty, so it was not stored.");
  if (/[\r\n\0]/.test(trimmed))
    throw new AppError("key-invalid", "The text has several lines, so it was not stored.");
  return trimmed;
}
