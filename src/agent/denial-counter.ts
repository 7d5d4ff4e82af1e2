import type { AgentEventOf } from "./events.ts";

/** Counts consecutive denied calls. Reads do not reset the count: models read between two variants of a denied call. */
export function createDenialCounter(maxDenials: number) {
  let count = 0;
  let isLastDenied = false;
  return {
    observe(end: AgentEventOf<"tool-end">, mutates: boolean): void {
      isLastDenied = end.denied !== undefined;
      if (isLastDenied) count += 1;
      else if (mutates && end.outcome === "ok") count = 0;
    },
    /** A warning for the model once the limit is reached. */
    warning: (): string | undefined =>
      isLastDenied && count >= maxDenials
        ? `${count} calls in a row were denied. Stop trying variants: answer now, and say what you could not do.`
        : undefined,
    mustEnd: (): boolean => count > maxDenials,
  };
}
