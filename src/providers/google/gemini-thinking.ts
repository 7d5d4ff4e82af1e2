import type { ReasoningEffort } from "../provider.ts";

/** Budgets in tokens for Gemini 2.5; they stay within the limits of all its models. */
const BUDGETS: { readonly [Effort in ReasoningEffort]: number } = {
  none: 0,
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
  ultra: 24_576,
};
const LEAST_PRO_BUDGET = 128; // Gemini 2.5 Pro always thinks

/** The thinking fields of a request. Models that are not known to think get none, because they refuse them. */
export function thinkingConfigOf(model: string, effort: ReasoningEffort | undefined): object | undefined {
  const { version, kind } = parseGemini(model) ?? {};
  if (version === undefined || kind === undefined || version < 2.5) return undefined;
  if (/image|tts|live|audio|embedding/.test(kind)) return undefined;
  if (effort === undefined) return { includeThoughts: true };
  const isPro = kind.startsWith("pro");
  if (version >= 3) return { includeThoughts: true, thinkingLevel: levelOf(effort, version, isPro) };
  const thinkingBudget = Math.max(BUDGETS[effort], isPro ? LEAST_PRO_BUDGET : 0);
  return { includeThoughts: thinkingBudget > 0, thinkingBudget };
}

/** Whether a model refuses calls in its history that have no thought signature. */
export function needsSignatures(model: string): boolean {
  return (parseGemini(model)?.version ?? 0) >= 3;
}

/** Levels exist from Gemini 3 on. Thinking cannot be disabled, and Gemini 3 Pro has only two levels. */
function levelOf(effort: ReasoningEffort, version: number, isPro: boolean): string {
  if (effort === "none" || effort === "minimal") return isPro ? "low" : "minimal";
  if (effort === "medium") return isPro && version === 3 ? "high" : effort;
  return effort === "low" ? effort : "high";
}

/** Parses names such as `gemini-2.5-flash-lite`; a name without a version, `gemini-pro-latest`, means the newest. */
function parseGemini(model: string): { readonly version: number; readonly kind: string } | undefined {
  const { version, kind } =
    /gemini-(?:(?<version>\d+(?:\.\d+)?)-)?(?<kind>[a-z][\w.-]*)/.exec(model)?.groups ?? {};
  return kind === undefined ? undefined : { version: Number(version ?? Number.POSITIVE_INFINITY), kind };
}
