import { AFTER_HEALING, type HistoryPlan, type HistoryResult } from "./run-history.ts";

export interface Shrinking {
  /** Repeats a history and returns its result. */
  run(plan: HistoryPlan): Promise<HistoryResult>;
  /** The maximum number of attempts. */
  readonly attempts: number;
}

/**
 * Reduces a failing history to the actions that it needs to break the same rule (delta debugging): removes halves first
 * and single actions last, as long as the rest still fails. The returned result comes from a run of the reduced history.
 */
export async function shrinkHistory(
  failure: HistoryResult,
  { run, attempts }: Shrinking,
): Promise<HistoryResult> {
  const rule = ruleOf(failure);
  // Without the healing phase, every history would leave unfinished tasks.
  const thenHeal = rule?.startsWith(AFTER_HEALING) ?? false;
  let best = failure;
  let actions = thenHeal ? failure.actions.slice(0, failure.actions.indexOf("heal")) : failure.actions;
  let left = attempts;
  for (let size = half(actions.length); left > 0; size = half(size)) {
    let isSmaller = false;
    for (let start = 0; start < actions.length && left > 0; left--) {
      const fewer = [...actions.slice(0, start), ...actions.slice(start + size)];
      const result = await run({ seed: failure.seed, actions: fewer, thenHeal });
      if (ruleOf(result) === rule) {
        best = result;
        actions = fewer;
        isSmaller = true;
      } else start += size;
    }
    if (size === 1 && !isSmaller) return best;
  }
  return best;
}

function half(size: number): number {
  return Math.max(1, Math.ceil(size / 2));
}

/** The broken rule, without the ids and numbers of the breach. */
export function ruleOf({ breach }: Pick<HistoryResult, "breach">): string | undefined {
  return breach
    ?.split("\n", 1)[0]
    ?.replace(/\bt_[0-9a-f]+/g, "a task")
    .replace(/\d+/g, "n");
}
