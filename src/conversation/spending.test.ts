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
  expect(
    remainingBudget(usage, { session: undefined, day: undefined, isCostUnknown: false }, turn("cheap")),
  ).toBeUndefined();
  expect(
    remainingBudget(usage, { session: undefined, day: undefined, isCostUnknown: false }, turn("cheap", 9)),
  ).toBe(9);
  expect(remainingBudget(usage, { session: 2, day: 5, isCostUnknown: false }, turn("cheap", 9))).toBe(1);
  expect(remainingBudget(usage, { session: 1, day: 50, isCostUnknown: false }, turn("cheap"))).toBe(0.5);
});

test("a cap that is reached refuses the turn and says how to raise it", () => {
  expect(() =>
    remainingBudget(usage, { session: 3, day: undefined, isCostUnknown: false }, turn("dear")),
  ).toThrow(/session has cost \$3.00/);
  expect(() =>
    remainingBudget(usage, { session: undefined, day: 4, isCostUnknown: false }, turn("cheap")),
  ).toThrow(/day has cost \$4.00/);
});

test("a cap is refused where the price is not known, and only a cap", () => {
  const caps = { session: undefined, day: undefined, isCostUnknown: true };
  const refused = [
    () => remainingBudget(usage, { ...caps, session: 1 }, turn("cheap")),
    () => remainingBudget(usage, { ...caps, day: 1 }, turn("cheap")),
    () => remainingBudget(usage, caps, turn("cheap", 1)),
  ];
  for (const ask of refused) expect(ask).toThrow("price of the model is not known");
  expect(remainingBudget(usage, caps, turn("cheap"))).toBeUndefined();
});
