import { createHash } from "node:crypto";

/** How often the same thing may happen before the model is told, and before a turn that nobody watches is ended. */
const LIMITS = {
  sameFailure: { warn: 2, halt: 5, what: "The same call has failed the same way" },
  failingTool: { warn: 3, halt: 8, what: "This tool has failed" },
  noProgress: { warn: 2, halt: 5, what: "The same call has had the same result" },
} as const;

export interface Observed {
  readonly tool: string;
  readonly input: string;
  readonly failed: boolean;
  readonly text: string;
  readonly mutates: boolean;
}

export interface Guardrails {
  /** Notes how a call ended; the words are for the model, and `halt` is for a turn that nobody watches. */
  observe(call: Observed): { readonly warning: string | undefined; readonly halt: string | undefined };
}

/** Watches one turn for a model that goes round in circles. Different commands that succeed are progress. */
export function createGuardrails(): Guardrails {
  const counts = new Map<string, number>();
  const count = (key: string): number => {
    const next = (counts.get(key) ?? 0) + 1;
    counts.set(key, next);
    return next;
  };

  return {
    observe({ tool, input, failed, text, mutates }) {
      if (!failed && mutates) counts.clear();
      const same = digest([tool, input, text]);
      const seen = failed
        ? ([
            ["sameFailure", count(`f ${same}`)],
            ["failingTool", count(`t ${tool}`)],
          ] as const)
        : ([["noProgress", mutates ? 0 : count(`n ${same}`)]] as const);
      if (!failed) counts.delete(`t ${tool}`);
      let warning: string | undefined;
      let halt: string | undefined;
      for (const [limit, times] of seen) {
        const { warn, halt: most, what } = LIMITS[limit];
        if (times >= most) halt ??= `${what} ${times} times`;
        if (times >= warn)
          warning ??= `${what} ${times} times. Try something else, or say what stands in the way.`;
      }
      return { warning, halt };
    },
  };
}

function digest(parts: readonly string[]): string {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("base64");
}
