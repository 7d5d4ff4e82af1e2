import { expect, test } from "vitest";
import type { UsageTotals } from "../sessions/session.ts";
import { remainingBudget } from "./spending.ts";

const NOON = new Date(2026, 4, 29, 12).getTime();
const cost = (costUsd: number) => ({ costUsd }) as UsageTotals;
const usage = {
  ofSession: (id: string) => cost(id === "dear" ? 3 : 0.5),
  between: (from: number) => cost(new Date(from).getHours() === 0 ? 4 : 0),
};
const turn = (sessionId: string, maxCostUsd?: number) => ({ sessionId, now: NOON, maxCostUsd });

test("the smallest of what is left counts, and nothing is limited unless asked", () => {
  expect(remainingBudget(usage, { session: undefined, day: undefined }, turn("cheap"))).toBeUndefined();
  expect(remainingBudget(usage, { session: undefined, day: undefined }, turn("cheap", 9))).toBe(9);
  expect(remainingBudget(usage, { session: 2, day: 5 }, turn("cheap", 9))).toBe(1);
  expect(remainingBudget(usage, { session: 1, day: 50 }, turn("cheap"))).toBe(0.5);
});

test("a cap that is reached refuses the turn and says how to raise it", () => {
  expect(() => remainingBudget(usage, { session: 3, day: undefined }, turn("dear"))).toThrow(
    /session has cost \$3.00/,
  );
  expect(() => remainingBudget(usage, { session: undefined, day: 4 }, turn("cheap"))).toThrow(
    /day has cost \$4.00/,
  );
});
