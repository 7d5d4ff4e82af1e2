import { expect, test } from "vitest";
import type { UsageTotals } from "../sessions/session.ts";
import { remainingBudget } from "./spending.ts";

const NOON = new Date(2026, 4, 29, 12).getTime();
const cost = (costUsd: number) => ({ costUsd }) as UsageTotals;
const usage = {
  ofSession: (id: string) => cost(id === "expensive" ? 3 : 0.5),
  between: (from: number) => cost(new Date(from).getHours() === 0 ? 4 : 0),
};
const turn = (sessionId: string, maxCostUsd?: number) => ({ sessionId, now: NOON, maxCostUsd });

test("the smallest remaining budget applies, and there is no limit by default", () => {
  expect(
    remainingBudget(usage, { session: undefined, day: undefined, isCostUnknown: false }, turn("cheap")),
  ).toBeUndefined();
  expect(
    remainingBudget(usage, { session: undefined, day: undefined, isCostUnknown: false }, turn("cheap", 9)),
  ).toBe(9);
  expect(remainingBudget(usage, { session: 2, day: 5, isCostUnknown: false }, turn("cheap", 9))).toBe(1);
  expect(remainingBudget(usage, { session: 1, day: 50, isCostUnknown: false }, turn("cheap"))).toBe(0.5);
});

test("a turn is refused when a cap is reached", () => {
  expect(() =>
    remainingBudget(usage, { session: 3, day: undefined, isCostUnknown: false }, turn("expensive")),
  ).toThrow(/session has cost \$3.00/);
  expect(() =>
    remainingBudget(usage, { session: undefined, day: 4, isCostUnknown: false }, turn("cheap")),
  ).toThrow(/day has cost \$4.00/);
});

test("a turn with a cap is refused if the price is unknown; a turn without a cap runs", () => {
  const caps = { session: undefined, day: undefined, isCostUnknown: true };
  const refusedCalls = [
    () => remainingBudget(usage, { ...caps, session: 1 }, turn("cheap")),
    () => remainingBudget(usage, { ...caps, day: 1 }, turn("cheap")),
    () => remainingBudget(usage, caps, turn("cheap", 1)),
  ];
  for (const ask of refusedCalls) expect(ask).toThrow("price of the model is not known");
  expect(remainingBudget(usage, caps, turn("cheap"))).toBeUndefined();
});
