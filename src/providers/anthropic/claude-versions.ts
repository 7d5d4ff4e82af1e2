import type { ReasoningEffort } from "../provider.ts";

/** The reasoning fields of a request, in the SDK's terms. */
export interface Thinking {
  readonly thinking?:
    | { readonly type: "disabled" | "adaptive" }
    | { readonly type: "enabled"; readonly budgetTokens: number };
  readonly effort?: "low" | "medium" | "high" | "xhigh" | "max";
}

/** All below 32,000 tokens, the output limit of the first models with thinking budgets. */
const BUDGETS: { readonly [Effort in Exclude<ReasoningEffort, "none">]: number } = {
  minimal: 1_024,
  low: 4_000,
  medium: 8_000,
  high: 16_000,
  xhigh: 24_000,
  max: 24_000,
  ultra: 24_000,
};

/** The reasoning fields for an effort, which depend on the model's version; an unknown model counts as the newest. */
export function thinkingOf(model: string, wanted: ReasoningEffort | undefined): Thinking {
  if (wanted === undefined) return {};
  const claude = parseClaude(model);
  const version = claude?.version ?? NEWEST;
  if (version < 3.7) return {}; // these models cannot think
  if (wanted === "none") return { thinking: { type: "disabled" } };
  const budget = { thinking: { type: "enabled", budgetTokens: BUDGETS[wanted] } } as const;
  // The format has five efforts; the ones beyond either end map to the nearest.
  const effort = wanted === "minimal" ? "low" : wanted === "ultra" ? "max" : wanted;
  const isAboveHigh = effort === "xhigh" || effort === "max";
  if (version === 4.5 && claude?.family === "opus")
    return { ...budget, effort: isAboveHigh ? "high" : effort };
  if (version <= 4.5) return budget;
  if (version === 4.6) return { thinking: { type: "adaptive" }, effort: isAboveHigh ? "max" : effort };
  return version < 5 ? { thinking: { type: "adaptive" }, effort } : { effort };
}

/** The output limit of a model, if it is lower than the default limit. */
export function outputLimitOf(model: string): number {
  const version = parseClaude(model)?.version ?? NEWEST;
  if (version < 3.5) return 4_096;
  return version < 3.7 ? 8_192 : Number.POSITIVE_INFINITY;
}

const NEWEST = Number.POSITIVE_INFINITY;

/** Parses names such as `claude-sonnet-4-5-20250929` and `claude-3-5-haiku-latest`, with or without dots and prefixes. */
function parseClaude(model: string): { readonly family: string; readonly version: number } | undefined {
  const name = model.toLowerCase().replaceAll(".", "-");
  const { family, major, minor } =
    /claude-(?<family>opus|sonnet|haiku)-(?<major>\d)(?:-(?<minor>\d))?(?!\d)/.exec(name)?.groups ??
    /claude-(?<major>\d)(?:-(?<minor>\d))?-(?<family>opus|sonnet|haiku)/.exec(name)?.groups ??
    {};
  if (family === undefined) return undefined;
  return { family, version: Number(`${major}.${minor ?? 0}`) };
}
