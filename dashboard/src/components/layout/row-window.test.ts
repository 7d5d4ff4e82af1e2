import { expect, test } from "vitest";
import { rowWindow, scrollToRow } from "./row-window.ts";

test("a window of a long list has the same number of rows everywhere and keeps the height of the list", () => {
  for (const scrollTop of [0, 1, 5_000, 400_000, 1_019_000, 9_999_999]) {
    const { first, end, above, below } = rowWindow({ count: 10_198, rowHeight: 100, scrollTop });
    expect(end - first).toBeGreaterThanOrEqual(30);
    expect(end - first).toBeLessThanOrEqual(33);
    expect(above + below + (end - first) * 100).toBe(1_019_800);
  }
});

test("a window covers the visible rows and some more on both sides", () => {
  const { first, end } = rowWindow({ count: 10_000, rowHeight: 100, scrollTop: 50_050 });
  expect(first).toBeLessThan(500);
  expect(end).toBeGreaterThan(512);
});

test("a list that is shorter than the window is drawn whole", () => {
  expect(rowWindow({ count: 3, rowHeight: 100, scrollTop: 900 })).toEqual({
    first: 0,
    end: 3,
    above: 0,
    below: 0,
  });
});

test("a hidden row is scrolled to the nearest edge, and a visible row does not move", () => {
  const view = { rowHeight: 100, scrollTop: 1_000, viewHeight: 500 };
  expect(scrollToRow(3, view)).toBe(300);
  expect(scrollToRow(20, view)).toBe(1_600);
  expect(scrollToRow(12, view)).toBeUndefined();
});
