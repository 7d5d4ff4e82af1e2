import { createHash } from "node:crypto";

/** Consecutive steps without progress after which the model gets a warning, and after which an unattended turn ends. */
const LIMITS = { warn: 1, halt: 4 } as const;
/** Higher limits for repeated calls that may make progress each time with the same output, as `./next-page.sh` does. */
const MUTATING_LIMITS = { warn: 4, halt: 11 } as const;
/** A call that takes this long counts as progress: it waits for something, and its next result may differ. */
const PROGRESS_MS = 5_000;

export interface ObservedCall {
  readonly tool: string;
  readonly input: string;
  readonly failed: boolean;
  readonly text: string;
  readonly mutates: boolean;
  readonly durationMs: number;
}

/**
 * Detects a turn that repeats itself: consecutive answers in which every call was made in an earlier answer with the
 * same result. Any new call or result is progress, even a failed one.
 */
export function createLoopDetector() {
  const seen = new Set<string>();
  let answer: { readonly key: string; readonly isNew: boolean; readonly mayChange: boolean }[] = [];
  let steps = 0;
  let mayChange = false;
  return {
    observe({ tool, input, failed, text, mutates, durationMs }: ObservedCall): void {
      const key = digest([tool, input, text]);
      const isNew = !seen.has(key) || durationMs >= PROGRESS_MS;
      answer.push({ key, isNew, mayChange: mutates && !failed });
    },
    /** Runs after the last call of an answer. `warning` is for the model; `halt` says why an unattended turn must end. */
    endAnswer(): { readonly warning: string | undefined; readonly halt: string | undefined } {
      const isNew = answer.some((call) => call.isNew);
      steps = isNew ? 0 : steps + 1;
      mayChange = !isNew && (mayChange || answer.some((call) => call.mayChange));
      for (const { key } of answer) seen.add(key);
      answer = [];
      const { warn, halt } = mayChange ? MUTATING_LIMITS : LIMITS;
      const what = `${steps === 1 ? "This step" : `Each of the last ${steps} steps`} repeated earlier calls and had the same results`;
      return {
        warning:
          steps >= warn
            ? `${what}. Try a different approach, or report what prevents you from continuing.`
            : undefined,
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
