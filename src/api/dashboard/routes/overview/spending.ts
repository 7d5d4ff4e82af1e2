import type { SessionStore } from "../../../../sessions/session-store.ts";
import type { OverviewAnswer } from "../../../contract/overview.ts";
import type { Totals } from "../../../contract/sessions.ts";

const DAYS = 14;

const ZERO: Totals = {
  ...{ requests: 0, inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
  ...{ reasoningTokens: 0, costUsd: 0, unpriced: 0 },
};

export type DailyUsage = Pick<SessionStore["usage"], "byDay">;

/** The local days of a period as `2026-11-19`, in order. */
export function localDays(from: number, until: number): string[] {
  const days: string[] = [];
  const day = new Date(from);
  day.setHours(12, 0, 0, 0); // at noon, a clock change cannot move it into another day
  const two = (value: number): string => String(value).padStart(2, "0");
  for (; day.getTime() < until + 43_200_000 && days.length < 1_000; day.setDate(day.getDate() + 1)) {
    if (new Date(day).setHours(0, 0, 0, 0) >= until) break;
    days.push(`${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`);
  }
  return days;
}

/** The totals of each day, without gaps. */
export function totalsByDay(
  usage: DailyUsage,
  from: number,
  until: number,
): (Totals & { readonly name: string })[] {
  const known = new Map(usage.byDay(from).map((day) => [day.name, day]));
  return localDays(from, until).map((name) => ({ ...ZERO, ...known.get(name), name }));
}

/** The spending of the last days. */
export function readSpending(usage: DailyUsage, now: number): OverviewAnswer["spending"] {
  const first = new Date(now);
  first.setHours(0, 0, 0, 0);
  first.setDate(first.getDate() - (DAYS - 1));
  const days = totalsByDay(usage, first.getTime(), now).map(({ name, ...totals }) => ({
    ...totals,
    day: name,
  }));
  const { inputTokens = 0, cacheReadTokens = 0 } = days.at(-1) ?? {};
  return { days, cacheShare: inputTokens === 0 ? null : cacheReadTokens / inputTokens };
}
