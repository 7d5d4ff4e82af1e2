import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openLocalTestEnvironment,
  openToolLab,
  type TestEnvironment,
  type ToolLab,
} from "../../test/support/tool-lab.ts";
import { NO_TODOS, parseTodos } from "./todo.ts";

let testEnvironment: TestEnvironment;
beforeAll(async () => {
  testEnvironment = await openLocalTestEnvironment();
});
afterAll(() => testEnvironment[Symbol.asyncDispose]());

const PLAN = [
  { id: "1", content: "look", status: "in_progress" },
  { id: "2", content: "change", parent: "1" },
];

async function todo(lab: ToolLab, input: object) {
  return (await lab.call("todo", input)).json();
}

it("C3: every result has the whole list in order, counts and the revision; a call without todos reads", async () => {
  await using own = await openToolLab(testEnvironment);
  expect(await todo(own, {})).toEqual({ todos: [], counts: { total: 0 }, revision: 0 });
  const list = {
    todos: [
      { id: "1", content: "look", status: "in_progress" },
      { id: "2", content: "change", status: "pending", parent: "1" },
    ],
    counts: { total: 2, in_progress: 1, pending: 1 },
    revision: 1,
  };
  expect(await todo(own, { todos: PLAN })).toEqual(list);
  expect(await todo(own, {})).toEqual(list);
  expect((await own.call("todo", { todos: PLAN })).display).toBe("[>] look\n[ ] change");
});

it("C3: merge changes known items and adds new ones; without merge the list is replaced", async () => {
  await using own = await openToolLab(testEnvironment);
  await todo(own, { todos: PLAN });
  const merged = await todo(own, {
    merge: true,
    todos: [
      { id: "1", status: "completed" },
      { id: 3, content: "prove" },
      { id: "2", content: "change well" },
    ],
  });
  expect(merged["todos"]).toEqual([
    { id: "1", content: "look", status: "completed" },
    { id: "2", content: "change well", status: "pending", parent: "1" },
    { id: "3", content: "prove", status: "pending" },
  ]);
  expect(merged["revision"]).toBe(2);
  const replaced = await todo(own, { todos: [{ id: "9", content: "anew" }] });
  expect(replaced["todos"]).toEqual([{ id: "9", content: "anew", status: "pending" }]);
});

it("C3: only the item that was just set is in progress, and the result names the others", async () => {
  await using own = await openToolLab(testEnvironment);
  await todo(own, { todos: PLAN });
  const moved = await todo(own, { merge: true, todos: [{ id: "2", status: "in_progress" }] });
  expect(moved["counts"]).toMatchObject({ in_progress: 1, pending: 1 });
  expect(moved["todos"]).toMatchObject([{ status: "pending" }, { id: "2", status: "in_progress" }]);
  expect(moved["note"]).toContain("back to pending: 1");
});

it("C3: a new item without content, and too many items, change nothing", async () => {
  await using own = await openToolLab(testEnvironment);
  await todo(own, { todos: PLAN });
  const many = Array.from({ length: 255 }, (_, id) => ({ id: `n${id}`, content: "x" }));
  for (const todos of [[{ id: "7", status: "completed" }], many])
    expect(await own.call("todo", { merge: true, todos })).toMatchObject({ failed: true });
  const tooLong = await own.call("todo", { todos: [{ id: "1", content: "x".repeat(4_001) }] });
  expect(tooLong.failed).toBe(true);
  expect(await todo(own, {})).toMatchObject({ revision: 1, counts: { total: 2 } });
});

it("a list in a JSON string is accepted", async () => {
  await using own = await openToolLab(testEnvironment);
  expect(await todo(own, { todos: JSON.stringify(PLAN) })).toMatchObject({ counts: { total: 2 } });
});

it("the list is restored from the last result, even if the loop appended a note", async () => {
  await using own = await openToolLab(testEnvironment);
  const { text } = await own.call("todo", { todos: PLAN });
  for (const last of [text, `${text}\n\n[The same call has had the same result 2 times.]`]) {
    await using later = await openToolLab(testEnvironment, { todos: parseTodos(last) });
    expect(await todo(later, {})).toEqual(JSON.parse(text));
  }
  expect(parseTodos(undefined)).toEqual(NO_TODOS);
  expect(parseTodos(`${text.slice(0, 20)}`)).toEqual(NO_TODOS);
});
