import type { ModelPrice, Usage } from "../providers/provider.ts";

const PER = 1_000_000;

/** What a request cost in US dollars; undefined when the price or the count is unknown, which is not the same as nothing. */
export function costOf(usage: Usage, price: ModelPrice | undefined): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  return (
    (fresh * price.input +
      cacheReadTokens * price.cacheRead +
      cacheWriteTokens * price.cacheWrite +
      outputTokens * price.output) /
    PER
  );
}

export function addCost(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}
