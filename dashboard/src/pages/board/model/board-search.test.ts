import { expect, test } from "vitest";
import type { Card } from "../../../../../src/api/contract/boards.ts";
import { assigneesOf, cardsQueryOf, matcherOf, parseSearch } from "./board-search.ts";

test("an address is read, and unknown values are ignored", () => {
  expect(
    parseSearch({ q: " login ", view: "list", tab: "log", sort: "title", archived: true, x: 1 }),
  ).toEqual({
    q: "login",
    view: "list",
    tab: "log",
    sort: "title",
    archived: true,
  });
  expect(parseSearch({ q: "", view: "pie", tab: ["log"], archived: "no", assignee: {} })).toEqual({});
  expect(parseSearch({ q: 12 })).toEqual({ q: "12" });
});

test("unassigned tasks are requested with an empty name", () => {
  expect(assigneesOf({ assignee: "coder,-,coder" })).toEqual(["coder", "-"]);
  expect(cardsQueryOf({ assignee: "coder,-", q: "x", view: "list" })).toEqual({ q: "x", assignee: "coder," });
});

test("the filter matches cards by assignee, words, number and id", () => {
  const card = (more: Partial<Card>) =>
    ({ id: "t_1", seq: 1, title: "Fix the login", assignee: null, tenant: null, ...more }) as Card;
  expect(matcherOf({})).toBeUndefined();
  const mine = matcherOf({ assignee: "coder,-" });
  expect([
    mine?.(card({})),
    mine?.(card({ assignee: "coder" })),
    mine?.(card({ assignee: "writer" })),
  ]).toEqual([true, true, false]);
  const words = matcherOf({ q: "LOGIN fix" });
  expect(words?.(card({}))).toBe(true);
  expect(words?.(card({ title: "Other" }))).toBe(false);
  const number = matcherOf({ q: "#12" });
  expect([number?.(card({ seq: 12 })), number?.(card({ seq: 112 }))]).toEqual([true, false]);
  expect(matcherOf({ q: "t_4c" })?.(card({ id: "t_4c19" }))).toBe(true);
});
