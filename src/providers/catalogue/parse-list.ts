import type { ModelPrice } from "../provider.ts";
import type { ModelFacts } from "./model-facts.ts";

/** A model as its server lists it. */
export interface ListedModel extends ModelFacts {
  readonly name: string;
}

const MAX_MODELS = 10_000;
const MAX_NAME = 200;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Parses the list of models of any server; the formats differ only in the names of their fields. Returns undefined if the body is
 * no such list; entries without a usable name are skipped.
 */
export function parseModelList(body: unknown): ListedModel[] | undefined {
  const { data, models } = fieldsOf(body);
  const entries = [body, data, models].find(Array.isArray) as unknown[] | undefined;
  const byName = new Map<string, ListedModel>();
  for (const entry of entries?.slice(0, MAX_MODELS) ?? []) {
    const listed = parseEntry(fieldsOf(entry));
    if (listed !== undefined) byName.set(listed.name, listed);
  }
  return entries === undefined ? undefined : [...byName.values()];
}

function parseEntry(entry: Fields): ListedModel | undefined {
  const id = [entry["id"], entry["name"], entry["model"]].find((value) => typeof value === "string");
  const name = String(id ?? "").replace(/^models\//, ""); // Google's names are paths
  // Skip names that cannot be typed or that would change the terminal.
  if (name === "" || name.length > MAX_NAME || /[\s\p{Cc}\p{Cf}]/u.test(name)) return undefined;
  const { architecture, capabilities, supported_parameters: parameters } = entry;
  const { supportedGenerationMethods: methods } = entry;
  if (Array.isArray(methods) && !methods.includes("generateContent")) return undefined; // Google lists others too
  const inputs = fieldsOf(architecture)["input_modalities"];
  return {
    name,
    contextTokens: firstCount(
      entry["loaded_context_length"], // LM Studio: smaller than the maximum if loaded that way
      entry["context_length"], // OpenRouter, Together
      entry["context_window"], // Groq, Vercel
      entry["max_model_len"], // vLLM
      entry["max_input_tokens"], // Anthropic
      entry["inputTokenLimit"], // Google
      entry["max_context_length"], // Mistral, LM Studio
      fieldsOf(entry["meta"])["n_ctx"], // llama.cpp
    ),
    maxOutputTokens: firstCount(
      fieldsOf(entry["top_provider"])["max_completion_tokens"],
      entry["max_completion_tokens"],
      entry["max_output_tokens"],
      entry["outputTokenLimit"],
      entry["max_tokens"],
    ),
    price: parsePrice(fieldsOf(entry["pricing"])),
    vision: Array.isArray(inputs) ? inputs.includes("image") : flag(fieldsOf(capabilities)["vision"]),
    reasoning: Array.isArray(parameters) ? parameters.includes("reasoning") : undefined,
  };
}

/** Parses prices in dollars per token, which aggregators write as strings. Numbers are ignored, because their unit may be another one. */
function parsePrice(pricing: Fields): ModelPrice | undefined {
  const perMillion = (...names: readonly string[]): number | undefined => {
    const text = names.map((name) => pricing[name]).find((value) => typeof value === "string");
    const value = text === undefined || text === "" ? Number.NaN : Number(text) * 1_000_000;
    return value >= 0 && value < 100_000 ? Number(value.toPrecision(10)) : undefined; // a negative price stands for a variable one
  };
  const input = perMillion("prompt", "input");
  const output = perMillion("completion", "output");
  if (input === undefined || output === undefined) return undefined;
  return {
    input,
    output,
    cacheRead: perMillion("input_cache_read") ?? input,
    cacheWrite: perMillion("input_cache_write") ?? input,
  };
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

export function firstCount(...values: readonly unknown[]): number | undefined {
  return values.find(
    (value): value is number => typeof value === "number" && Number.isInteger(value) && value > 0,
  );
}

function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}
