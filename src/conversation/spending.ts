import { AppError } from "../lib/errors.ts";
import type { SessionUsage } from "../sessions/rows/session-usage.ts";

/** US dollars that may be spent; undefined means no limit. */
export interface SpendingCaps {
  readonly session: number | undefined;
  readonly day: number | undefined;
  /** Whether the model costs money, but its price is unknown. */
  readonly isCostUnknown: boolean;
}

/** The amount that a turn may spend under its own limit and the caps; throws if a cap is reached or unenforceable. */
export function remainingBudget(
  usage: Pick<SessionUsage, "ofSession" | "between">,
  { session, day, isCostUnknown }: SpendingCaps,
  turn: { readonly sessionId: string; readonly now: number; readonly maxCostUsd: number | undefined },
): number | undefined {
  if (isCostUnknown && [turn.maxCostUsd, session, day].some((cap) => cap !== undefined))
    throw new AppError(
      "budget-unenforceable",
      "The price of the model is not known, so its cost cannot be limited.",
    );
  const budgets = [turn.maxCostUsd];
  if (session !== undefined)
    budgets.push(
      requireBudget(
        session,
        usage.ofSession(turn.sessionId).costUsd,
        "session",
        "agent.max_session_cost_usd",
      ),
    );
  if (day !== undefined) {
    const midnight = new Date(turn.now).setHours(0, 0, 0, 0);
    const { costUsd } = usage.between(midnight, turn.now + 1);
    budgets.push(requireBudget(day, costUsd, "day", "agent.max_daily_cost_usd"));
  }
  const known = budgets.filter((amount) => amount !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function requireBudget(cap: number, spent: number, period: string, key: string): number {
  if (spent < cap) return cap - spent;
  throw new AppError("budget-spent", `This ${period} has cost $${spent.toFixed(2)}; the limit is $${cap}.`, {
    hint: `Raise the limit with \`hermes config set ${key} AMOUNT\`.`,
  });
}
