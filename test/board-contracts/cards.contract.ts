import { describe, expect, test } from "vitest";
import type { CardQuery } from "../../src/board/operations/views/cards/list-cards.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, openStage } from "../support/board-lab.ts";

const SETTINGS = { hasDefaultAssignee: false };

export function cardsContract(openLab: () => Promise<BoardLab>): void {
  const openBoard = async () => {
    const stage = await openStage(openLab);
    const columns = async (query: CardQuery = {}) =>
      Object.fromEntries(
        (await stage.store.cards(query, SETTINGS, neverAborted)).columns.map((column) => [
          column.status,
          column,
        ]),
      );
    const titles = async (status: string, query: CardQuery = {}) =>
      (await columns(query))[status]?.cards.map(({ title }) => title);
    const card = async (id: string) => (await stage.store.findCards([id], SETTINGS, neverAborted))[0];
    return { ...stage, columns, titles, card };
  };

  describe("cards", () => {
    test("each column has its count and its first 50 cards; further pages have 200 and lose none", async () => {
      await using board = await openBoard();
      for (let number = 0; number < 260; number++)
        await board.add(`task ${number}`, { priority: number % 3 });
      const { ready, todo, archived } = await board.columns();
      expect([ready?.count, ready?.cards.length, todo]).toEqual([
        260,
        50,
        expect.objectContaining({ count: 0 }),
      ]);
      expect(archived).toBeUndefined();
      const seen = [...(ready?.cards ?? [])];
      const sizes: number[] = [];
      for (let after = ready?.next ?? null; after !== null; ) {
        const page = (await board.columns({ statuses: ["ready"], after }))["ready"];
        sizes.push(page?.cards.length ?? 0);
        seen.push(...(page?.cards ?? []));
        after = page?.next ?? null;
      }
      expect(sizes).toEqual([200, 10]);
      expect(new Set(seen.map(({ id }) => id)).size).toBe(260);
      const keys = seen.map(({ priority, seq }) => priority * 1_000 - seq);
      expect(keys).toEqual(keys.toSorted((one, other) => other - one));
    });

    test("done and archived tasks are sorted by when they ended, across pages", async () => {
      await using board = await openBoard();
      const ids: string[] = [];
      for (let number = 0; number < 60; number++) ids.push((await board.add(`task ${number}`)).id);
      for (const id of ids.toReversed()) {
        await board.lab.advance(1_000);
        await board.operator.complete(id, {}, neverAborted);
      }
      const { done } = await board.columns();
      const next = done?.next ?? "";
      const rest = (await board.columns({ statuses: ["done"], after: next }))["done"];
      expect([...(done?.cards ?? []), ...(rest?.cards ?? [])].map(({ id }) => id)).toEqual(ids);
      await board.operator.archive(ids[5] ?? "", neverAborted);
      await board.lab.advance(1_000);
      await board.operator.archive(ids[3] ?? "", neverAborted);
      expect(await board.titles("archived", { statuses: ["archived"] })).toEqual(["task 3", "task 5"]);
      expect((await board.columns())["done"]?.count).toBe(58);
    });

    test("a filter narrows counts and cards by words, number, id, assignee and tenant", async () => {
      await using board = await openBoard();
      const first = await board.add("Fix the LOGIN page", { tenant: "acme" });
      await board.add("Änder den login", { assignee: null });
      await board.add("100% done_or_not", { assignee: "writer" });
      expect(await board.titles("ready", { text: "login" })).toEqual([
        "Fix the LOGIN page",
        "Änder den login",
      ]);
      expect(await board.titles("ready", { text: "login änder" })).toEqual(["Änder den login"]);
      expect(await board.titles("ready", { text: "0%" })).toEqual(["100% done_or_not"]);
      expect(await board.titles("ready", { text: "a_" })).toEqual([]);
      expect(await board.titles("ready", { text: `#${first.seq}` })).toEqual([first.title]);
      expect(await board.titles("ready", { text: first.id.slice(0, 8) })).toEqual([first.title]);
      expect(await board.titles("ready", { assignees: [null] })).toEqual(["Änder den login"]);
      expect(await board.titles("ready", { assignees: ["writer", null] })).toHaveLength(2);
      const { ready } = await board.columns({ tenant: "acme" });
      expect([ready?.count, ready?.cards.length]).toEqual([1, 1]);
    });

    test("cards are sorted by priority, number, last change or title; an invalid cursor is refused", async () => {
      await using board = await openBoard();
      for (const [title, priority] of [
        ["b", 1],
        ["c", 3],
        ["a", 2],
      ] as const)
        await board.add(title, { priority });
      expect(await board.titles("ready")).toEqual(["c", "a", "b"]);
      expect(await board.titles("ready", { order: "title" })).toEqual(["a", "b", "c"]);
      expect(await board.titles("ready", { order: "created" })).toEqual(["a", "c", "b"]);
      expect(await board.titles("ready", { order: "updated" })).toHaveLength(3);
      for (const after of ["x", "[]", "[null,1]"])
        await expect(board.columns({ statuses: ["ready"], after })).rejects.toThrow(/cursor/);
      await expect(board.columns({ after: "[1,1]" })).rejects.toThrow(/one status/);
    });

    test("a card shows the one reason why its task is not running, and how many of its parents are done", async () => {
      await using board = await openBoard();
      const [parent, other] = [await board.add("parent"), await board.add("other")];
      const child = await board.add("child", { parents: [parent.id, other.id] });
      await board.operator.complete(other.id, {}, neverAborted);
      const task = { id: parent.id, seq: parent.seq };
      expect(await board.card(child.id)).toMatchObject({
        status: "todo",
        parts: { done: 1, total: 2 },
        reason: { kind: "waits", task, count: 1 },
      });
      expect((await board.card(parent.id))?.reason?.kind).toBe("next");
      await board.operator.hold(parent.id, true, neverAborted);
      expect((await board.card(parent.id))?.reason?.kind).toBe("held");
      const later = board.lab.now() + 60_000;
      const scheduled = await board.add("later", { scheduledAt: later });
      expect((await board.card(scheduled.id))?.reason).toMatchObject({ kind: "scheduled", until: later });
      const nobody = await board.add("nobody's", { assignee: null });
      expect((await board.card(nobody.id))?.reason?.kind).toBe("unassigned");
      const [given] = await board.store.findCards([nobody.id], { hasDefaultAssignee: true }, neverAborted);
      expect(given?.reason?.kind).toBe("next");
      await board.operator.pause(true, neverAborted);
      expect((await board.card(nobody.id))?.reason?.kind).toBe("paused");
    });

    test("a card distinguishes a worker's question, a person's block and a failure", async () => {
      await using board = await openBoard();
      const asked = await board.add("asked");
      await board
        .worker(await board.claim(asked.id))
        .block(asked.id, "Drop them?", "needs_input", neverAborted);
      const parked = await board.add("parked");
      await board.operator.block(parked.id, "not yet", undefined, neverAborted);
      const failed = await board.add("failed");
      await board.lab.raw(
        `update task set status = 'blocked', last_failure_error = 'no key', consecutive_failures = 2 where id = '${failed.id}'`,
      );
      await board.lab.raw(
        `insert into event (id, task_id, kind, actor, payload, created_at) values (999, '${failed.id}', 'gave_up', 'dispatcher', '{}', 5)`,
      );
      expect((await board.card(asked.id))?.notice).toMatchObject({ kind: "question", text: "Drop them?" });
      expect((await board.card(parked.id))?.notice).toMatchObject({ kind: "block", text: "not yet" });
      expect(await board.card(failed.id)).toMatchObject({
        notice: { kind: "failure", text: "no key" },
        since: 5,
      });
    });

    test("a running card has its current run; comments, files and the cost of all runs are counted", async () => {
      await using board = await openBoard();
      const task = await board.add("work");
      await board.operator.comment(task.id, "one", neverAborted);
      await board.operator.comment(task.id, "two", neverAborted);
      await board.operator.attach(task.id, { filename: "a.txt", storedPath: "/a", size: 1 }, neverAborted);
      await board.claim(task.id);
      await board.operator.release(task.id, "again", neverAborted);
      await board.lab.advance(3_600_000);
      await board.claim(task.id);
      await board.lab.raw(
        "update run set cost_micros = 250000, input_tokens = 5, output_tokens = 6, session_id = 's' || id",
      );
      expect(await board.card(task.id)).toMatchObject({
        ...{ comments: 2, files: 1, costUsd: 0.5, since: board.lab.now() },
        run: { id: 2, profile: "worker", tokens: 11, costUsd: 0.25, sessionId: "s2", host: "host-1" },
      });
      const [open, ...others] = await board.store.openRuns(undefined, neverAborted);
      expect([open?.run.id, open?.title, others]).toEqual([2, "work", []]);
    });

    test("the changes since an event contain the cards of changed tasks and of tasks that wait for them, with new counts", async () => {
      await using board = await openBoard();
      const [parent, other] = [await board.add("parent"), await board.add("other")];
      const child = await board.add("child", { parents: [parent.id, other.id] });
      const before = (await board.store.changes(0, SETTINGS, neverAborted)).lastEvent;
      expect((await board.store.changes(before, SETTINGS, neverAborted)).cards).toEqual([]);
      await board.operator.complete(parent.id, {}, neverAborted);
      const changes = await board.store.changes(before, SETTINGS, neverAborted);
      expect(changes.cards.map(({ id }) => id).toSorted()).toEqual([child.id, parent.id].toSorted());
      expect(changes.cards.find(({ id }) => id === child.id)?.parts).toEqual({ done: 1, total: 2 });
      expect(changes).toMatchObject({
        counts: { done: 1, todo: 1, ready: 1 },
        paused: false,
        isLarge: false,
      });
      await board.operator.archive(parent.id, neverAborted);
      await board.operator.purge(parent.id, neverAborted);
      await board.operator.pause(true, neverAborted);
      const last = await board.store.changes(changes.lastEvent, SETTINGS, neverAborted);
      expect(last).toMatchObject({ gone: [parent.id], paused: true });
      expect(last.cards.map(({ id }) => id).toSorted()).toEqual([child.id, other.id].toSorted());
      expect(last.events.map(({ kind }) => kind)).toEqual(["purged", "board_paused"]);
    });

    test("the graph has the linked tasks that are not archived", async () => {
      await using board = await openBoard();
      const parent = await board.add("parent");
      const child = await board.add("child", { parents: [parent.id] });
      await board.add("alone");
      const old = await board.add("old");
      await board.add("its child", { parents: [old.id] });
      await board.operator.archive(old.id, neverAborted);
      const graph = await board.store.graph(neverAborted);
      expect(graph.links).toEqual([{ parent: parent.id, child: child.id }]);
      expect(graph.tasks.map(({ title }) => title)).toEqual(["child", "parent"]);
      expect(graph.left).toBe(0);
    });
  });
}
