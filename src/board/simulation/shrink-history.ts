import { AFTER_HEALING, type HistoryPlan, type HistoryResult } from "./run-history.ts";

export interface Shrinking {
  /** Repeats a history and says how it went. */
  run(plan: HistoryPlan): Promise<HistoryResult>;
  /** After so many attempts it is left as it is. */
  readonly attempts: number;
}

/**
 * The failing history without whatever it does not need to break the same rule: parts of it are left out, halves first
 * and single steps last, as long as what is left still fails (delta debugging). The result is one that was run.
 */
export async function shrinkHistory(
  failure: HistoryResult,
  { run, attempts }: Shrinking,
): Promise<HistoryResult> {
  const rule = ruleOf(failure);
  // Without its healing any history would leave something undone.
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

/** Which rule was broken, whatever tasks, runs and numbers were involved. */
export function ruleOf({ breach }: Pick<HistoryResult, "breach">): string | undefined {
  return breach
    ?.split("\n", 1)[0]
    ?.replace(/\bt_[0-9a-f]+/g, "a task")
    .replace(/\d+/g, "n");
}
