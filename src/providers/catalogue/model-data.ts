import type { z } from "zod";
import bundled from "./known-models.json" with { type: "json" };
import type { modelDataSchema } from "./model-data-schema.ts";
import type { ModelFacts } from "./model-facts.ts";

export type ModelData = z.infer<typeof modelDataSchema>;

/** The data file of this version. */
export const BUNDLED_DATA = bundled as ModelData;

/** The models of a provider in the data file, by name. */
export function knownModels({ providers }: ModelData, provider: string): ReadonlyMap<string, ModelFacts> {
  const rows = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return new Map(Object.entries(rows ?? {}).map(([name, row]) => [name, toFacts(row)]));
}

/** The known facts about a model of a provider; a dated name (`gpt-5-2025-08-07`) means the same model. */
export function findKnownModel(data: ModelData, provider: string, model: string): ModelFacts | undefined {
  const models = knownModels(data, provider);
  return models.get(model) ?? models.get(withoutDate(model));
}

/** The facts about the vendor's own model, for the name that an aggregator gives it: `anthropic/claude-sonnet-4.5`. */
export function findNativeModel(data: ModelData, model: string): ModelFacts | undefined {
  const [, vendor = "", name = ""] = /^([\w-]+)\/([^:]+)/.exec(model) ?? [];
  const provider = VENDORS.get(vendor);
  if (provider === undefined) return undefined;
  const wanted = withoutDots(withoutDate(name));
  for (const [known, facts] of knownModels(data, provider)) if (withoutDots(known) === wanted) return facts;
  return undefined;
}

/** The names that aggregators use for vendors that are providers of ours. */
const VENDORS: ReadonlyMap<string, string> = new Map([
  ["anthropic", "anthropic"],
  ["openai", "openai-api"],
  ["google", "gemini"],
  ["deepseek", "deepseek"],
  ["x-ai", "xai"],
  ["xai", "xai"],
  ["z-ai", "zai"],
  ["zai", "zai"],
  ["minimax", "minimax"],
  ["qwen", "alibaba"],
]);

function toFacts(row: ModelData["providers"][string][string]): ModelFacts {
  const { context, output, price, vision, reasoning } = row;
  return {
    contextTokens: context,
    maxOutputTokens: output,
    price: price && {
      input: price.input,
      output: price.output,
      cacheRead: price.cache_read,
      cacheWrite: price.cache_write,
    },
    vision,
    reasoning,
  };
}

function withoutDate(name: string): string {
  return name.replace(/-\d{4}-?\d{2}-?\d{2}$/, "");
}

/** Aggregators write `claude-sonnet-4.5` for `claude-sonnet-4-5`. */
function withoutDots(name: string): string {
  return name.toLowerCase().replaceAll(".", "-");
}
