import { expect, test } from "vitest";
import type { BoardChange, Card, CardsAnswer, Status } from "../../../src/api/contract/boards.ts";
import { BoardStore, type BoardStoreOptions } from "./board-store.ts";

function card(seq: number, status: Status, more: Partial<Card> = {}): Card {
  return {
    id: `t_${seq}`,
    seq,
    title: `Task ${seq}`,
    status,
    assignee: null,
    reviewer: null,
    priority: 0,
    tenant: null,
    hold: false,
    createdAt: 1,
    updatedAt: 1,
    since: 1,
    reason: null,
    notice: null,
    failures: 0,
    parts: null,
    comments: 0,
    files: 0,
    costUsd: 0,
    run: null,
    ...more,
  };
}

function snapshot(
  cards: readonly Card[],
  event = 10,
  counts: Partial<Record<Status, number>> = {},
): CardsAnswer {
  const statuses: Status[] = ["todo", "ready", "running", "done"];
  const columns = statuses.map((status) => {
    const own = cards.filter((one) => one.status === status);
    const count = counts[status] ?? own.length;
    return { status, count, cards: own, next: count > own.length ? "more" : null };
  });
  return { columns, event, at: "e.1" } as unknown as CardsAnswer;
}

function change(event: number, cards: readonly Card[], more: Partial<BoardChange> = {}): BoardChange {
  return {
    board: "default",
    cards: [...cards],
    gone: [],
    counts: {},
    paused: false,
    event,
    events: [],
    isLarge: false,
    ...more,
  } as BoardChange;
}

/** A store whose listeners are called when the test calls `frame`. */
function openStore(options: Partial<BoardStoreOptions> = {}) {
  const frames: (() => void)[] = [];
  const store = new BoardStore({ schedule: (flush) => frames.push(flush), ...options });
  return {
    store,
    frames,
    frame: () => {
      for (const flush of frames.splice(0)) flush();
    },
  };
}

test("a change moves a card to its place in another column and leaves the other cards alone", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo"), card(2, "ready", { priority: 1 }), card(3, "ready")]));
  const untouched = store.card("t_3");
  store.applyChange(
    change(11, [card(1, "ready", { priority: 2, updatedAt: 2 })], {
      counts: { todo: 0, ready: 3 } as BoardChange["counts"],
    }),
  );
  expect(store.column("todo")).toMatchObject({ count: 0, ids: [] });
  expect(store.column("ready")).toMatchObject({ count: 3, ids: ["t_1", "t_2", "t_3"] });
  expect(store.card("t_3")).toBe(untouched);
});

test("listeners of a burst are called once a frame, and only those of what changed", () => {
  const { store, frame, frames } = openStore();
  store.loadSnapshot(snapshot([card(1, "ready"), card(2, "ready"), card(3, "todo")]));
  frame();
  const calls: string[] = [];
  for (const key of ["card:t_1", "card:t_2", "card:t_3", "column:todo", "column:ready", "summary"])
    store.subscribe(key, () => calls.push(key));
  for (let event = 11; event < 2_011; event++)
    store.applyChange(change(event, [card(1, "ready", { title: `Title ${event}`, updatedAt: event })]));
  expect(frames).toHaveLength(1);
  frame();
  expect(calls.filter((key) => key.startsWith("card:"))).toEqual(["card:t_1"]);
  expect(calls).not.toContain("column:todo");
  expect(store.card("t_1")?.title).toBe("Title 2010");
});

test("changes that are not newer than the snapshot are dropped, whichever arrives first", () => {
  const { store } = openStore();
  store.beginLoad();
  store.applyChange(change(9, [card(1, "todo", { title: "old" })]));
  store.applyChange(change(12, [card(1, "ready", { title: "new", updatedAt: 5 })]));
  store.loadSnapshot(snapshot([card(1, "todo", { title: "read" })], 10));
  expect(store.card("t_1")).toMatchObject({ title: "new", status: "ready" });
  store.applyChange(change(10, [card(1, "todo", { title: "old" })]));
  expect(store.card("t_1")?.title).toBe("new");
});

test("a page that was read before a change does not bring the old state back", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo")], 10, { todo: 3 }));
  store.applyChange(change(12, [card(2, "ready", { updatedAt: 5 })]));
  store.appendPage({ status: "todo", count: 3, cards: [card(2, "todo"), card(3, "todo")], next: null }, 11);
  expect(store.card("t_2")?.status).toBe("ready");
  expect(store.column("todo").ids).toEqual(["t_1", "t_3"]);
});

test("a card after the last loaded one is counted, and comes with its page", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "ready", { priority: 3 })], 10, { ready: 500 }));
  store.applyChange(change(11, [card(900, "ready")], { counts: { ready: 501 } as BoardChange["counts"] }));
  expect(store.column("ready")).toMatchObject({ count: 501, ids: ["t_1"] });
});

test("a move is shown at once, with the counts of both columns", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo"), card(2, "ready")]));
  const token = store.begin(["t_1"], { status: "ready" });
  expect(store.column("todo")).toMatchObject({ count: 0, ids: [] });
  expect(store.column("ready")).toMatchObject({ count: 2, ids: ["t_1", "t_2"] });
  expect(store.card("t_1")).toMatchObject({ status: "ready", isPending: true });
  store.settle(token, "t_1");
  expect(store.column("todo")).toMatchObject({ count: 1, ids: ["t_1"] });
  expect(store.card("t_1")).toMatchObject({ status: "todo", isPending: false });
});

test("an accepted move stays visible until its event arrives, and does not count as a change from elsewhere", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo"), card(2, "ready")]));
  const moved = card(1, "ready", { updatedAt: 7 });
  const token = store.begin(["t_1"], { status: "ready" });
  store.settle(token, "t_1", moved);
  expect(store.column("ready")).toMatchObject({ count: 2, ids: ["t_1", "t_2"] });
  store.applyChange(change(11, [moved], { counts: { todo: 0, ready: 2 } as BoardChange["counts"] }));
  expect(store.column("ready")).toMatchObject({ count: 2, ids: ["t_1", "t_2"] });
  expect(store.card("t_1")?.changes).toBe(0);
});

test("a server that chose another column wins over the column that was shown", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo")]));
  const token = store.begin(["t_1"], { status: "ready" });
  store.applyChange(change(11, [card(1, "done", { updatedAt: 5 })]));
  store.settle(token, "t_1", card(1, "done", { updatedAt: 5 }));
  expect(store.column("done").ids).toEqual(["t_1"]);
  expect(store.column("ready").ids).toEqual([]);
});

test("a change from elsewhere is counted, so that it can be shown by one fade", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo")]));
  store.applyChange(change(11, [card(1, "todo", { priority: 3, updatedAt: 5 })]));
  expect(store.card("t_1")?.changes).toBe(1);
});

test("under a filter, changed cards enter and leave, and the counts are those of the filter", () => {
  const { store } = openStore({ matches: ({ assignee }) => assignee === "coder" });
  const mine = { assignee: "coder" };
  store.loadSnapshot(snapshot([card(1, "todo", mine), card(2, "ready", mine)]));
  const counts = { todo: 90, ready: 70 } as BoardChange["counts"];
  store.applyChange(change(11, [card(1, "ready", { ...mine, updatedAt: 2 })], { counts }));
  expect([store.column("todo").count, store.column("ready").count]).toEqual([0, 2]);
  store.applyChange(change(12, [card(2, "ready", { assignee: "writer", updatedAt: 3 })], { counts }));
  expect(store.column("ready")).toMatchObject({ count: 1, ids: ["t_1"] });
  const created = { task: { id: "t_9", seq: 9, title: "" }, kind: "created", from: null };
  const events = [created] as unknown as BoardChange["events"];
  store.applyChange(change(13, [card(9, "todo", mine)], { counts, events }));
  expect(store.column("todo")).toMatchObject({ count: 1, ids: ["t_9"] });
});

test("deleted tasks leave, and a change that is too large asks for a new snapshot", () => {
  const { store } = openStore();
  store.loadSnapshot(snapshot([card(1, "todo"), card(2, "todo")]));
  expect(
    store.applyChange(change(11, [], { gone: ["t_1"], counts: { todo: 1 } as BoardChange["counts"] })),
  ).toBe(true);
  expect(store.column("todo")).toMatchObject({ count: 1, ids: ["t_2"] });
  expect(store.applyChange(change(12, [], { isLarge: true }))).toBe(false);
});

test("done tasks are ordered by their end, the newest first", () => {
  const { store } = openStore();
  store.loadSnapshot(
    snapshot([card(2, "done", { since: 20 }), card(1, "done", { since: 10 }), card(3, "todo")]),
  );
  store.applyChange(change(11, [card(3, "done", { since: 30, updatedAt: 9 })]));
  expect(store.column("done").ids).toEqual(["t_3", "t_2", "t_1"]);
});

test("10,000 cards: a change sorts only its own card again", () => {
  const { store } = openStore();
  const cards = Array.from({ length: 10_000 }, (_, index) =>
    card(index + 1, "done", { since: 10_000 - index }),
  );
  store.loadSnapshot(snapshot(cards.slice(0, 50), 10, { done: 10_000 }));
  for (let from = 50; from < 10_000; from += 200)
    store.appendPage(
      {
        status: "done",
        count: 10_000,
        cards: cards.slice(from, from + 200),
        next: from + 200 < 10_000 ? "x" : null,
      },
      10,
    );
  expect(store.column("done").ids).toEqual(cards.map(({ id }) => id));
  store.applyChange(change(11, [card(10_001, "done", { since: 20_000 })]));
  expect(store.column("done").ids[0]).toBe("t_10001");
});
