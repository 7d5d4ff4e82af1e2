import type { AgentEventOf, TurnOutcome } from "../../../agent/events.ts";

/** One run: the turn that ended it, and the JSON that was asked for with `--output-schema`. */
export interface RunResult {
  readonly end: AgentEventOf<"turn-end">;
  /** `unfit`: the answer never matched the output schema. */
  readonly outcome: TurnOutcome | "unfit";
  /** What is printed: the answer, or the JSON in it. */
  readonly text: string;
  /** As the model wrote it. */
  readonly json?: string;
  readonly durationMs: number;
}

/** What a turn used, as files and summaries name it. */
export function usageFields({ requests, usage, costUsd }: AgentEventOf<"turn-end">) {
  return {
    requests,
    input_tokens: usage.inputTokens ?? null,
    cache_read_tokens: usage.cacheReadTokens ?? null,
    cache_write_tokens: usage.cacheWriteTokens ?? null,
    output_tokens: usage.outputTokens ?? null,
    reasoning_tokens: usage.reasoningTokens ?? null,
    cost_usd: costUsd ?? null,
  };
}
