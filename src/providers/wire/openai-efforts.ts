import { REASONING_EFFORTS, type ReasoningEffort } from "../provider.ts";

/** OpenAI's models that reason. Only the Responses API keeps their reasoning between calls. */
export const OPENAI_REASONING_MODELS = /^(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat)|codex-)/;

/** The efforts that OpenAI's models support, by name; a dated name means the same model. */
const SUPPORTED: readonly (readonly [RegExp, readonly ReasoningEffort[]])[] = [
  [/^o\d(?:-|$)/, ["low", "medium", "high"]],
  [/^gpt-5-pro(?:-\d|$)/, ["high"]],
  [/^gpt-5(?:-mini|-nano)?(?:-\d|$)/, ["minimal", "low", "medium", "high"]],
  [/^gpt-5\.1(?:-\d|$)/, ["none", "low", "medium", "high"]],
];

/** The lowest effort of a model that is at least the requested one, or else its highest. */
export function chooseEffort(model: string, wanted: ReasoningEffort): ReasoningEffort {
  const supported = SUPPORTED.find(([name]) => name.test(model))?.[1];
  if (supported === undefined) return wanted;
  const least = REASONING_EFFORTS.indexOf(wanted);
  return supported.find((effort) => REASONING_EFFORTS.indexOf(effort) >= least) ?? supported.at(-1) ?? wanted;
}
