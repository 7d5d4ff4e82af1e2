import { expect, test } from "vitest";
import type { Card, Status } from "../../../../../src/api/contract/boards.ts";
import { COLUMNS, railsOf } from "./column-layout.ts";
import { choiceFor, undoOf } from "./moves.ts";

const ALL: readonly Status[] = [...COLUMNS, "archived"];

test("every pair of columns has a move or a reason why there is none", () => {
  for (const from of ALL)
    for (const to of ALL) {
      const choice = choiceFor(from, to);
      expect("move" in choice || choice.refusal.length > 0).toBe(true);
    }
});

test("nothing is dragged into running, and ending work asks first", () => {
  for (const from of ALL) expect(choiceFor(from, "running")).toHaveProperty("refusal");
  for (const from of ["ready", "running", "blocked", "review"] as const)
    expect(choiceFor(from, "done")).toHaveProperty("ask");
  for (const from of ALL.slice(0, -1)) expect(choiceFor(from, "archived")).toMatchObject({ ask: "confirm" });
  expect(choiceFor("running", "ready")).toMatchObject({ move: "reclaim", ask: "stop" });
});

test("a move can be undone only if another move leads back to the same column", () => {
  const card = (status: Status, more: Partial<Card> = {}) =>
    ({ status, notice: null, reviewer: null, ...more }) as Card;
  expect(undoOf(card("ready"), { move: "block", to: "blocked" })).toEqual({ move: "unblock" });
  expect(undoOf(card("running"), { move: "block", to: "blocked" })).toBeUndefined();
  expect(undoOf(card("todo"), { move: "promote", to: "ready" })).toBeUndefined();
  const asks = card("blocked", { notice: { kind: "question", text: "Drop them?", cause: "blocked" } });
  expect(undoOf(asks, { move: "unblock", to: "ready" })).toEqual({ move: "block", reason: "Drop them?" });
});

test("empty columns are rails until a person opens them or points at them", () => {
  const counts = { triage: 0, todo: 0, ready: 2, review: 1, done: 9 };
  const rails = (more: object) => [...railsOf(COLUMNS, { counts, chosen: {}, peeked: undefined, ...more })];
  expect(rails({})).toEqual(["triage", "scheduled", "blocked"]);
  expect(rails({ peeked: "triage" })).toEqual(["scheduled", "blocked"]);
  expect(rails({ chosen: { triage: "open", review: "closed" } })).toEqual(["scheduled", "blocked", "review"]);
});

test("if not all columns fit, the quiet ones become rails first", () => {
  const counts = Object.fromEntries(COLUMNS.map((status) => [status, 1]));
  const rails = (room: number, chosen = {}) => [
    ...railsOf(COLUMNS, { counts, chosen, room, peeked: undefined }),
  ];
  expect(rails(8)).toEqual([]);
  expect(rails(7)).toEqual(["scheduled"]);
  expect(rails(3)).toEqual(["scheduled", "triage"]);
  expect(rails(3, { triage: "open" })).toEqual(["scheduled"]);
});
