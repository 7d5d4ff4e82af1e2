import type { ModelFailure } from "../../src/providers/provider.ts";

/** A failure of a model, temporary unless `part` says otherwise. */
export function failureOf(part: Partial<ModelFailure>): ModelFailure {
  return {
    kind: "unavailable",
    message: "the model is away",
    hint: "Try again later.",
    status: undefined,
    retryAfterMs: undefined,
    droppedTools: [],
    sawText: false,
    ...part,
  };
}
