import { expect, test } from "vitest";
import { actionOf, step } from "./board-keys.ts";

const GRID = [["a1", "a2", "a3"], [], ["c1"], ["d1", "d2"]];
const press = (key: string, more: object = {}) => ({
  key,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

test("arrows and h j k l go to the neighbours and skip empty columns", () => {
  expect(step(GRID, "a1", 0, 1)).toBe("a2");
  expect(step(GRID, "a3", 0, 1)).toBeUndefined();
  expect(step(GRID, "a3", 1, 0)).toBe("c1");
  expect(step(GRID, "c1", 1, 0)).toBe("d1");
  expect(step(GRID, "d2", -1, 0)).toBe("c1");
  expect(step(GRID, "d1", 1, 0)).toBeUndefined();
  for (const [one, other] of [
    ["h", "ArrowLeft"],
    ["j", "ArrowDown"],
    ["k", "ArrowUp"],
    ["l", "ArrowRight"],
  ] as const)
    expect(actionOf(press(one), GRID, "d1", true)).toEqual(actionOf(press(other), GRID, "d1", true));
});

test("if the focused card has been removed, keys start at the first card", () => {
  expect(step(GRID, "gone", 0, 1)).toBe("a1");
});

test("Home, End and the page keys stay in the column", () => {
  expect(actionOf(press("End"), GRID, "a1", true)).toEqual({ kind: "focus", id: "a3" });
  expect(actionOf(press("Home"), GRID, "d2", true)).toEqual({ kind: "focus", id: "d1" });
  expect(actionOf(press("PageDown"), GRID, "a1", true)).toEqual({ kind: "focus", id: "a3" });
});

test("digits set the priority and letters act on the card", () => {
  expect(actionOf(press("2"), GRID, "a1", true)).toEqual({ kind: "priority", id: "a1", priority: 2 });
  expect(actionOf(press("m"), GRID, "a1", true)).toEqual({ kind: "move", id: "a1" });
  expect(actionOf(press("."), GRID, "a1", true)).toEqual({ kind: "actions", id: "a1" });
  expect(actionOf(press("4"), GRID, "a1", true)).toBeUndefined();
});

test("keys with a modifier belong to the browser", () => {
  for (const modifier of ["ctrlKey", "metaKey", "altKey"])
    expect(actionOf(press("a", { [modifier]: true }), GRID, "a1", true)).toBeUndefined();
});

test("single letters can be switched off, and arrows, Enter and Space still act", () => {
  for (const key of ["m", "a", "x", "e", ".", "0", "j"])
    expect(actionOf(press(key), GRID, "a1", false)).toBeUndefined();
  expect(actionOf(press("Enter"), GRID, "a1", false)).toEqual({ kind: "open", id: "a1" });
  expect(actionOf(press(" "), GRID, "a1", false)).toEqual({ kind: "select", id: "a1" });
  expect(actionOf(press("ArrowDown"), GRID, "a1", false)).toEqual({ kind: "focus", id: "a2" });
});
