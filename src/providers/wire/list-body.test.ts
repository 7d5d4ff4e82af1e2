import { expect, test } from "vitest";
import { createListBody } from "./list-body.ts";

const long = "ä".repeat(50_000);

test.each([
  ["grows", [["1"], ["1", "2"], ["1", "2", "3"]]],
  ["has no items at first", [[], ["1"], []]],
  [
    "changes in the middle",
    [
      ["1", "2", "3"],
      ["1", "5", "3"],
      ["1", "5", "3", "4"],
    ],
  ],
  ["becomes shorter", [["1", "2", "3"], ["1"], ["1", "4"]]],
  ["outgrows its buffer with letters of two bytes", [["1"], ["1", `"${long}"`], ["1", `"${long}"`, "2"]]],
])("the body of a list that %s contains its current items", (_, lists) => {
  const write = createListBody();
  const bodies = lists.map((items) => ({ items, body: write('{"list":[', items, "]}") }));
  // A body that is still being sent must not change when the next one is written.
  for (const { items, body } of bodies) expect(`${body}`).toBe(`{"list":[${items.join(",")}]}`);
});
