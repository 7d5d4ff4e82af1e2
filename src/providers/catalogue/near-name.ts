import { AppError } from "../../lib/errors.ts";
import { findClosest } from "../../lib/text/did-you-mean.ts";
import { isSameServer } from "../routes/address.ts";
import type { RouteSettings } from "../routes/choose-provider.ts";
import { findProviderProfile } from "../routes/profiles.ts";
import type { Route } from "../routes/resolve-route.ts";
import { mergeModels } from "./merge-models.ts";
import { findKnownModel, knownModels, type ModelData } from "./model-data.ts";
import type { ListedModel } from "./parse-list.ts";

/** Throws `model-unknown` if the route's model is unknown and the user probably meant another one. Sends nothing. */
export function requireKnownName(
  settings: RouteSettings,
  data: ModelData,
  route: Route,
  listed: readonly ListedModel[],
): void {
  const { provider, profile, baseUrl, model } = route;
  const isOwnAddress = isSameServer(baseUrl, findProviderProfile(profile)?.baseUrl);
  const known = isOwnAddress ? [...knownModels(data, profile).keys()] : [];
  const listedNames = mergeModels(settings, data, route, listed).map(({ name }) => name);
  // Ollama adds the tag `latest` to a name without one.
  const untagged = listedNames.map((name) => name.replace(/:latest$/, ""));
  const names = new Set([...untagged, ...listedNames, ...known]);
  if (names.has(model)) return;
  if (isOwnAddress && findKnownModel(data, profile, model) !== undefined) return;
  const near = findNearName(model, names);
  if (near !== undefined)
    throw new AppError("model-unknown", `${provider} has no model named ${model}.`, {
      hint: `Did you mean ${near}? If ${model} is new, \`hermes model list --provider ${provider} --refresh\` asks the server; to use it unlisted, add it to providers.${provider}.models.`,
    });
  const owner = known.length === 0 ? undefined : findOwner(data, model);
  if (owner !== undefined)
    throw new AppError("model-unknown", `${model} is a model of ${owner}, not of ${provider}.`, {
      hint: `Write ${owner}:${model}.`,
    });
}

/** Whether a name may also be read as `provider:model`. */
export function hasColon({ model }: Pick<Route, "model">): boolean {
  return /^[\w.-]+:/.test(model);
}

/** Throws `provider-unknown` unless the server has a model whose name has a colon, such as `qwen3:8b`. */
export function requireListed(
  settings: RouteSettings,
  data: ModelData,
  route: Route,
  listed: readonly ListedModel[],
): void {
  const { provider, profile, model, baseUrl } = route;
  const names = mergeModels(settings, data, route, listed).map(({ name }) => name);
  if (names.includes(model) || findKnownModel(data, profile, model) !== undefined) return;
  const [head] = model.split(":", 1);
  const server = provider === "custom" ? new URL(baseUrl).host : provider;
  throw new AppError(
    "provider-unknown",
    `There is no provider named ${head}, and ${server} lists no model named ${model}.`,
    {
      hint: `\`hermes model list\` shows the models. If ${model} is a complete model name, write \`--provider ${provider} -m ${model}\`.`,
    },
  );
}

/** The known name that the user probably meant: spelt almost the same, or with the vendor that an aggregator requires. */
export function findNearName(name: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  const wanted = name.toLowerCase();
  const samelySpelt = names.find((candidate) => lettersOf(candidate) === lettersOf(name));
  if (samelySpelt !== undefined) return samelySpelt;
  const [ofVendor, ...others] = names.filter((candidate) => candidate.toLowerCase().endsWith(`/${wanted}`));
  if (ofVendor !== undefined && others.length === 0) return ofVendor;
  // Other digits are another version, which may be newer than every list.
  const sameVersion = names.filter((candidate) => digitsOf(candidate) === digitsOf(name));
  return findClosest(name, sameVersion, Math.min(2, Math.floor(name.length / 5)));
}

function findOwner({ providers }: ModelData, model: string): string | undefined {
  return Object.entries(providers).find(([, models]) => Object.hasOwn(models, model))?.[0];
}

/** `GPT5` and `gpt-5` have the same letters. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

function digitsOf(name: string): string {
  return name.replace(/\D/g, "");
}
