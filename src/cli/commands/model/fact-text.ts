import type { ModelFacts, WindowSource } from "../../../providers/catalogue/model-facts.ts";
import type { ModelPrice } from "../../../providers/provider.ts";

/** Formats a number of tokens for a narrow column: 128k, 1.05M. */
export function formatTokens(tokens: number | undefined): string {
  if (tokens === undefined) return "?";
  if (tokens >= 1_000_000) return `${Number((tokens / 1_000_000).toFixed(2))}M`;
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : `${tokens}`;
}

/** Formats the prices of a million tokens of input and output. */
export function formatPrice(price: ModelPrice | undefined): string {
  if (price === undefined) return "?";
  return price.input === 0 && price.output === 0 ? "free" : `$${price.input} / $${price.output}`;
}

export function formatAbilities({ vision, reasoning }: ModelFacts): string {
  return [vision ? "vision" : "", reasoning ? "reasoning" : ""].filter((word) => word !== "").join(", ");
}

/** Where the size of a context window is known from. */
export const WINDOW_SOURCES: { readonly [Source in WindowSource]: string } = {
  setting: "from the settings",
  error: "stated by the server in an error",
  list: "from the list of the server",
  data: "from the data file",
  default: "assumed, because no source states it",
};

/** The facts of a model, with the keys of JSON output. */
export function factFields({ contextTokens, maxOutputTokens, price, vision, reasoning }: ModelFacts) {
  return {
    context_tokens: contextTokens ?? null,
    max_output_tokens: maxOutputTokens ?? null,
    price: price
      ? {
          input: price.input,
          output: price.output,
          cache_read: price.cacheRead,
          cache_write: price.cacheWrite,
        }
      : null,
    vision: vision ?? null,
    reasoning: reasoning ?? null,
  };
}
