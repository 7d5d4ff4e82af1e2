import type { Model } from "../provider.ts";

/** Wraps a model so that every window that its server states in a failure is reported. */
export function withStatedWindows(model: Model, onStated: (tokens: number) => Promise<void>): Model {
  return {
    ...model,
    async *stream(request, signal) {
      for await (const event of model.stream(request, signal)) {
        const tokens = event.type === "failed" ? event.failure.windowTokens : undefined;
        if (tokens !== undefined) await onStated(tokens);
        yield event;
      }
    },
  };
}
