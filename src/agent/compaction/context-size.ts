import type { Message } from "../../providers/message.ts";
import type { ToolDefinition, Usage } from "../../providers/provider.ts";
import { estimateTokens } from "../request-cost.ts";

/** The size of a conversation when the model last answered. Only what was added since then is estimated. */
export interface SizeAnchor {
  /** Tokens of the first `messages` messages, with the tools; undefined if the provider did not report them. */
  readonly tokens: number | undefined;
  readonly messages: number;
}

/** The tokens of a conversation: the provider's last count, plus an estimate of what was added since. */
export function measureHistory(
  messages: readonly Message[],
  tools: readonly ToolDefinition[],
  anchor: SizeAnchor | undefined,
): number {
  if (anchor?.tokens === undefined) return estimateTokens({ messages, tools });
  const added = messages.slice(anchor.messages);
  return anchor.tokens + (added.length === 0 ? 0 : estimateTokens(added));
}

/** The anchor after an answer, which is the last message. */
export function createAnchor(
  messages: readonly Message[],
  tools: readonly ToolDefinition[],
  { inputTokens, outputTokens }: Usage,
  previous: SizeAnchor | undefined,
): SizeAnchor {
  const asked = inputTokens ?? measureHistory(messages.slice(0, -1), tools, previous);
  return { tokens: asked + (outputTokens ?? estimateTokens(messages.slice(-1))), messages: messages.length };
}
