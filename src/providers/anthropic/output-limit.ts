import type { ModelFailure } from "../provider.ts";

/** What is asked for where nobody has set a limit: the format insists on one, and answers are seldom longer. */
export const USUAL_LIMIT = 64_000;
const LOWEST_LIMIT = 1_000;
const NAMES_LIMIT =
  /max[_ ](?:output[_ ]|completion[_ ])?tokens|maximum (?:allowed )?number of output tokens|requested \d+ output tokens/i;

/** The output limit to ask for instead, when a server has refused a request because of it. */
export function lowerLimit({ kind, message }: ModelFailure, asked: number): number | undefined {
  if ((kind !== "refused" && kind !== "too-long") || !NAMES_LIMIT.test(message)) return undefined;
  const sum = /(?<prompt>\d+) \+ \d+ > (?<window>\d+)/;
  const words = /context length is (?<window>\d+) .*? (?<prompt>\d+) input tokens/; // vLLM
  const { prompt, window } = (sum.exec(message) ?? words.exec(message))?.groups ?? {};
  const [, most] = /> (\d+)|\[1, ?(\d+)\]/.exec(message)?.filter((part) => part !== undefined) ?? [];
  const least = kind === "refused" ? asked / 2 : 0; // without a number it may be the conversation that is too long
  const lower =
    window !== undefined ? Number(window) - Number(prompt) : most !== undefined ? Number(most) : least;
  // A window that is full without any answer is another matter.
  return lower >= LOWEST_LIMIT && lower < asked ? Math.floor(lower) : undefined;
}
