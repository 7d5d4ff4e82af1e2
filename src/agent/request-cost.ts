import type { AssistantMessage, Message } from "../providers/message.ts";
import { type ModelPrice, NO_USAGE, type ToolDefinition, type Usage } from "../providers/provider.ts";

const TOKENS_PER_PRICE = 1_000_000;

/** The cost of a request in US dollars; undefined, not 0, if the price or a token count is unknown. */
export function calculateCost(usage: Usage, price: ModelPrice | undefined): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  return (
    (fresh * price.input +
      cacheReadTokens * price.cacheRead +
      cacheWriteTokens * price.cacheWrite +
      outputTokens * price.output) /
    TOKENS_PER_PRICE
  );
}

export function addCost(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

const BYTES_PER_TOKEN = 3; // overestimates the tokens on purpose, because the estimate enforces a limit
const IMAGE_TOKENS = 1_600;

/** Estimates the tokens of a request and its answer, for a server that does not report them. */
export function estimateUsage(
  request: { readonly messages: readonly Message[]; readonly tools: readonly ToolDefinition[] },
  answer: AssistantMessage,
): Usage {
  return { ...NO_USAGE, inputTokens: estimateTokens(request), outputTokens: estimateTokens(answer.parts) };
}

/** Estimates how many tokens another provider, which has not cached this conversation, reads again, and what that costs extra. */
export function estimateCacheLoss(messages: readonly Message[], price: ModelPrice | undefined) {
  const lostCacheTokens = messages.length === 0 ? 0 : estimateTokens(messages);
  return {
    lostCacheTokens,
    lostCacheUsd: price && (lostCacheTokens * (price.input - price.cacheRead)) / TOKENS_PER_PRICE,
  };
}

/** The reported counts; missing counts are taken from an estimate. */
export function fillUsage(reported: Usage, estimate: Usage): Usage {
  return {
    ...reported,
    inputTokens: reported.inputTokens ?? estimate.inputTokens,
    outputTokens: reported.outputTokens ?? estimate.outputTokens,
  };
}

/** Estimates the tokens of messages or of any other part of a request. */
export function estimateTokens(value: unknown): number {
  let images = 0;
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Reflect.get(part, "type") !== "image") return part;
    images++;
    return undefined;
  });
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + images * IMAGE_TOKENS;
}
