import { AppError } from "../lib/errors.ts";
import type { SessionUsage } from "../sessions/session-usage.ts";

/** US dollars that may be spent; undefined means no limit. */
export interface SpendingCaps {
  readonly session: number | undefined;
  readonly day: number | undefined;
  /** Whether somebody is billed for the model at a price that we do not know. */
  readonly isCostUnknown: boolean;
}

/** What a turn may still spend under its own limit and the caps; throws when a cap is reached or cannot be kept. */
export function remainingBudget(
  usage: SessionUsage,
  { session, day, isCostUnknown }: SpendingCaps,
  turn: { readonly sessionId: string; readonly now: number; readonly maxCostUsd: number | undefined },
): number | undefined {
  if (isCostUnknown && [turn.maxCostUsd, session, day].some((cap) => cap !== undefined))
    throw new AppError(
      "budget-unenforceable",
      "The price of the model is not known, so its cost cannot be limited.",
    );
  const left = [turn.maxCostUsd];
  if (session !== undefined)
    left.push(
      requireLeft(session, usage.ofSession(turn.sessionId).costUsd, "session", "agent.max_session_cost_usd"),
    );
  if (day !== undefined) {
    const midnight = new Date(turn.now).setHours(0, 0, 0, 0);
    const { costUsd } = usage.between(midnight, turn.now + 1);
    left.push(requireLeft(day, costUsd, "day", "agent.max_daily_cost_usd"));
  }
  const known = left.filter((amount) => amount !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function requireLeft(cap: number, spent: number, what: string, key: string): number {
  if (spent < cap) return cap - spent;
  throw new AppError("budget-spent", `This ${what} has cost $${spent.toFixed(2)}, and $${cap} are allowed.`, {
    hint: `Raise it with \`hermes config set ${key} AMOUNT\`.`,
  });
}
