import { createHash } from "node:crypto";

/** After so many steps in a row without anything new the model is told, and a turn that nobody watches is ended. */
const LIMITS = { warn: 1, halt: 4 } as const;
/** The same where a repeated call may have changed something each time, as `./next-page.sh` does. */
const LIMITS_OF_CHANGES = { warn: 4, halt: 11 } as const;
/** A call that takes so long waits or works, and its next result may be another one. */
const WAITS_MS = 5_000;

export interface Observed {
  readonly tool: string;
  readonly input: string;
  readonly failed: boolean;
  readonly text: string;
  readonly mutates: boolean;
  readonly durationMs: number;
}

export interface Guardrails {
  /** Notes how a call of the current answer ended. */
  observe(call: Observed): void;
  /** The words are for the model, after the last call of an answer; `halt` is for a turn that nobody watches. */
  endAnswer(): { readonly warning: string | undefined; readonly halt: string | undefined };
}

/**
 * Watches one turn for a model that goes round in circles: answer after answer whose every call was made in an earlier
 * answer and had the same result then. Any call or result that is new is progress, whether it failed or not.
 */
export function createGuardrails(): Guardrails {
  const seen = new Set<string>();
  let answer: { readonly key: string; readonly isNew: boolean; readonly mayChange: boolean }[] = [];
  let steps = 0;
  let mayChange = false;
  return {
    observe({ tool, input, failed, text, mutates, durationMs }) {
      const key = digest([tool, input, text]);
      const isNew = !seen.has(key) || durationMs >= WAITS_MS;
      answer.push({ key, isNew, mayChange: mutates && !failed });
    },
    endAnswer() {
      const isNew = answer.some((call) => call.isNew);
      steps = isNew ? 0 : steps + 1;
      mayChange = !isNew && (mayChange || answer.some((call) => call.mayChange));
      for (const { key } of answer) seen.add(key);
      answer = [];
      const { warn, halt } = mayChange ? LIMITS_OF_CHANGES : LIMITS;
      const what = `${steps === 1 ? "This step" : `Each of the last ${steps} steps`} repeated earlier calls and had the same results`;
      return {
        warning: steps >= warn ? `${what}. Try something else, or say what stands in the way.` : undefined,
        halt: steps >= halt ? what : undefined,
      };
    },
  };
}

function digest(parts: readonly string[]): string {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("base64");
}
