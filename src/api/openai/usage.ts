import { ApiError } from "../api-error.ts";
import type { RunResult } from "../store/api-database.ts";

/** Token counts as chat completions report them; missing counts are 0, because clients require numbers. */
export function chatUsage({ usage }: Pick<RunResult, "usage">) {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, reasoningTokens = 0 } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** The same token counts in the form of the Responses API. */
export function responseUsage({ usage }: Pick<RunResult, "usage">) {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, reasoningTokens = 0 } = usage ?? {};
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

/** The error that a client gets for a run without a usable end; undefined for one with an answer. */
export function findRunError({ outcome, code, reason }: RunResult): ApiError | undefined {
  const message = reason ?? "The turn ended without an answer.";
  if (outcome === "error")
    return new ApiError(code === "turns_draining" ? 503 : 500, code ?? "run_failed", message);
  if (outcome === "failed") return new ApiError(502, "model_failed", message);
  if (outcome === "stopped") return new ApiError(409, "run_cancelled", "The run was stopped.");
  return undefined;
}
