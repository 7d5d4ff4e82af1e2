import { describe, expect, test } from "vitest";
import { LIST_ORDERS, type ListOrder } from "../../src/board/operations/views/list-tasks.ts";
import type { Task } from "../../src/board/task.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, codeOf, openStage } from "../support/board-lab.ts";

export function tasksContract(openLab: () => Promise<BoardLab>): void {
  describe("tasks", () => {
    test("a new task is ready, or waits for parents, triage, an unblock or its scheduled time", async () => {
      await using stage = await openStage(openLab);
      const parent = await stage.add("parent");
      const created = [
        await stage.add("plain"),
        await stage.add("child", { parents: [parent.id] }),
        await stage.add("vague", { triage: true }),
        await stage.add("parked", { initialStatus: "blocked" }),
        await stage.add("later", { scheduledAt: stage.lab.now() + 5_000 }),
        await stage.add("past", { scheduledAt: stage.lab.now() }),
      ];
      expect(created.map(({ status }) => status)).toEqual([
        "ready",
        "todo",
        "triage",
        "blocked",
        "scheduled",
        "ready",
      ]);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("the fields of a task are returned as given, and the tenant is inherited from a parent", async () => {
      await using stage = await openStage(openLab);
      const parent = await stage.add("parent", { tenant: "acme" });
      const given = {
        body: "line\n\u{1F600} ' \" :x {y} $1 ?",
        assignee: " Coder ",
        parents: [parent.id, parent.id],
        priority: -7,
        skills: ["b", " a ", "b"],
        modelOverride: "m",
        providerOverride: "p",
        goalMode: true,
        goalMaxTurns: 3,
        maxRetries: 4,
        maxRuntimeSeconds: 60,
        workspaceKind: "worktree",
        branchName: "fix/x",
        sessionId: "s1",
      } as const;
      const task = await stage.add("  title  ", given);
      expect((await stage.store.show(task.id, neverAborted)).task).toEqual(task);
      expect(task).toMatchObject({
        title: "title",
        body: given.body,
        assignee: "coder",
        priority: -7,
        tenant: "acme",
        skills: ["b", "a"],
        goal_mode: true,
        hold: false,
        branch_name: "fix/x",
        created_by: "alice",
        created_at: stage.lab.now(),
        max_runtime_seconds: 60,
      });
      expect((await stage.store.show(task.id, neverAborted)).parents).toEqual([parent.id]);
    });

    test.each([
      ["an empty title", { title: "  " }],
      ["a huge title", { title: "x".repeat(501) }],
      ["a title of two lines", { title: "a\nb" }],
      ["a title with an escape", { title: "\u001b[31mred" }],
      ["a title of NUL", { title: "a\0b\0" }, "\uFFFD"],
      ["half a character", { title: "a\uD800b" }, "\uFFFD"],
      ["SQL", { title: "'); drop table task; --" }, "drop"],
      ["a huge body", { title: "t", body: "x".repeat(300_000) }],
      ["a priority out of range", { title: "t", priority: 2 ** 40 }],
      ["a priority that is not a whole number", { title: "t", priority: 0.5 }],
      ["a comma in a skill", { title: "t", skills: ["a,b"] }],
      ["a provider without a model", { title: "t", providerOverride: "p" }],
      ["a branch outside of a worktree", { title: "t", branchName: "b" }],
      [
        "a branch that looks like a flag",
        { title: "t", workspaceKind: "worktree" as const, branchName: "-f" },
      ],
      ["no retries at all", { title: "t", maxRetries: 0 }],
    ])("%s is refused or cleaned, and a refusal leaves nothing", async (_, input, kept?: string) => {
      await using stage = await openStage(openLab);
      if (kept === undefined) {
        expect(await codeOf(stage.operator.create(input, neverAborted))).toBe("task-input-invalid");
        expect((await stage.store.list({}, neverAborted)).tasks).toEqual([]);
        expect((await stage.store.stats(neverAborted)).latestEventId).toBe(0);
      } else {
        expect((await stage.operator.create(input, neverAborted)).task.title).toContain(kept);
      }
    });

    test("an invalid branch name is refused when the task is created", async () => {
      await using stage = await openStage(openLab);
      const create = (branchName: string) =>
        codeOf(stage.operator.create({ title: "t", workspaceKind: "worktree", branchName }, neverAborted));
      for (const name of [
        "a..b",
        "a b",
        "a~1",
        "x.lock",
        "a/.b",
        "/a",
        "a/",
        "a.",
        "@",
        "a@{b",
        "a//b",
        "a\\b",
      ])
        expect(await create(name), name).toBe("task-input-invalid");
      for (const name of ["a", "fix/x-1", "a.b", "a@b", "ünïcode"])
        expect(await create(name), name).toBeUndefined();
    });

    test("an unknown task or parent is named in the error, and nothing is created", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const before = (await stage.store.stats(neverAborted)).latestEventId;
      const codes = await Promise.all(
        [
          stage.store.show("t_nothing", neverAborted),
          stage.operator.create({ title: "x", parents: [task.id, "t_nothing"] }, neverAborted),
          stage.operator.comment("t_nothing", "hi", neverAborted),
          stage.operator.complete("x".repeat(10_000), {}, neverAborted),
          stage.operator.link(task.id, "t_nothing", neverAborted),
          stage.operator.link("'; --", task.id, neverAborted),
          stage.operator.subscribe("t_nothing", { platform: "x", chatId: "1" }, neverAborted),
          stage.store.context("t_nothing", neverAborted),
        ].map(codeOf),
      );
      expect(new Set(codes)).toEqual(new Set(["task-not-found"]));
      expect((await stage.store.stats(neverAborted)).latestEventId).toBe(before);
      expect((await stage.store.list({}, neverAborted)).tasks).toHaveLength(1);
    });

    test("A7, board G44: a key belongs to one task until the task is archived; a done task releases it in scope open", async () => {
      await using stage = await openStage(openLab);
      const input = { title: "once", idempotencyKey: "k" };
      const first = await stage.operator.create(input, neverAborted);
      expect(first.created).toBe(true);
      expect(await stage.operator.create({ ...input, title: "twice" }, neverAborted)).toEqual({
        ...first,
        created: false,
      });
      await stage.operator.complete(first.task.id, {}, neverAborted);
      const again = await stage.operator.create(input, neverAborted);
      expect([again.created, again.task.id]).toEqual([false, first.task.id]);
      const open = await stage.operator.create({ ...input, dedupeScope: "open" }, neverAborted);
      expect(open.created).toBe(true);
      await stage.operator.archive(open.task.id, neverAborted);
      expect((await stage.operator.create(input, neverAborted)).created).toBe(true);
    });

    test("A7, board G44: eight concurrent creations with one key create one task", async () => {
      await using stage = await openStage(openLab);
      await using other = await stage.lab.open();
      const clients = [stage.operator, other.as({ kind: "operator", name: "bob" })];
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) =>
            clients[n % 2]?.create({ title: `n${n}`, idempotencyKey: `key ${round}` }, neverAborted),
          ),
        );
        expect(new Set(answers.map((answer) => answer?.task.id)).size).toBe(1);
        expect(answers.filter((answer) => answer?.created)).toHaveLength(1);
      }
      expect((await stage.store.list({}, neverAborted)).tasks).toHaveLength(5);
    });

    test("a cycle of any length is refused, a link exists once, and unlinking makes the child ready", async () => {
      await using stage = await openStage(openLab);
      const [a, b, c] = [await stage.add("a"), await stage.add("b"), await stage.add("c")];
      expect(await stage.operator.link(a.id, b.id, neverAborted)).toEqual({ changed: true, demoted: true });
      expect(await stage.operator.link(a.id, b.id, neverAborted)).toEqual({ changed: false, demoted: false });
      await stage.operator.link(b.id, c.id, neverAborted);
      for (const [parent, child] of [
        [a, a],
        [b, a],
        [c, a],
      ] as const)
        expect(await codeOf(stage.operator.link(parent.id, child.id, neverAborted))).toBe("task-link-cycle");
      expect(await stage.statusOf(c.id)).toBe("todo");
      // board G25: unlinking recomputes the child immediately
      expect(await stage.operator.unlink(b.id, c.id, neverAborted)).toBe(true);
      expect(await stage.operator.unlink(b.id, c.id, neverAborted)).toBe(false);
      expect(await stage.statusOf(c.id)).toBe("ready");
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("of two concurrent links that together form a cycle, exactly one is created", async () => {
      await using stage = await openStage(openLab);
      await using other = await stage.lab.open();
      const second = other.as({ kind: "operator", name: "bob" });
      for (let round = 0; round < 8; round++) {
        const ids = [];
        for (const title of ["a", "b", "c", "d"]) ids.push((await stage.add(title)).id);
        const [a = "", b = "", c = "", d = ""] = ids;
        await stage.operator.link(b, c, neverAborted);
        await stage.operator.link(d, a, neverAborted);
        const codes = await Promise.all([
          codeOf(stage.operator.link(a, b, neverAborted)),
          codeOf(second.link(c, d, neverAborted)),
        ]);
        expect(codes.filter((code) => code === "task-link-cycle")).toHaveLength(1);
      }
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("children become ready when their last parent is done or archived, with one event each", async () => {
      await using stage = await openStage(openLab);
      const [a, b] = [await stage.add("a"), await stage.add("b")];
      const child = await stage.add("child", { parents: [a.id, b.id] });
      await stage.operator.complete(a.id, {}, neverAborted);
      expect(await stage.statusOf(child.id)).toBe("todo");
      expect(await codeOf(stage.operator.promote(child.id, undefined, neverAborted))).toBe(
        "task-parents-open",
      );
      await stage.operator.archive(b.id, neverAborted);
      expect(await stage.statusOf(child.id)).toBe("ready");
      expect(await stage.system.recompute(undefined, neverAborted)).toEqual([]);
      expect(await stage.kinds(child.id)).toEqual(["created", "promoted"]);
    });

    test("board G26: an operation that changes nothing records no event", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { priority: 1 });
      const before = (await stage.store.stats(neverAborted)).latestEventId;
      await stage.operator.assign(task.id, "WORKER", undefined, neverAborted);
      await stage.operator.edit(task.id, { title: "a", priority: 1 }, neverAborted);
      await stage.operator.hold(task.id, false, neverAborted);
      await stage.operator.pause(false, neverAborted);
      await stage.system.recompute(undefined, neverAborted);
      await stage.operator.repairCounters(neverAborted);
      expect((await stage.store.stats(neverAborted)).latestEventId).toBe(before);
      await stage.operator.edit(task.id, { title: "b" }, neverAborted);
      expect(
        (await stage.store.events(before, undefined, neverAborted)).map(({ kind, payload }) => [
          kind,
          payload,
        ]),
      ).toEqual([["edited", { fields: ["title"] }]]);
    });

    test("board G42: a scheduled task resumes automatically at its time, not before", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      await stage.operator.schedule(task.id, stage.lab.now() + 1_000, "not now", neverAborted);
      expect(await stage.system.recompute(undefined, neverAborted)).toEqual([]);
      await stage.lab.advance(1_000);
      expect(await stage.system.recompute(undefined, neverAborted)).toEqual([task.id]);
      expect((await stage.store.show(task.id, neverAborted)).task).toMatchObject({
        status: "ready",
        scheduled_at: null,
      });
    });

    test("board G17: an explicitly blocked task stays blocked until it is unblocked", async () => {
      await using stage = await openStage(openLab);
      const [parked, asked] = [await stage.add("a", { initialStatus: "blocked" }), await stage.add("b")];
      await stage.operator.block(asked.id, "which colour?", "needs_input", neverAborted);
      await stage.lab.advance(10 * 86_400_000);
      expect(await stage.system.recompute(99, neverAborted)).toEqual([]);
      for (const { id } of [parked, asked])
        expect((await stage.operator.unblock(id, "blue", neverAborted)).status).toBe("ready");
    });

    test("board G18: a held task is neither promoted nor claimed until a person releases it", async () => {
      await using stage = await openStage(openLab);
      const parent = await stage.add("parent");
      const child = await stage.add("child", { parents: [parent.id], hold: true });
      await stage.operator.complete(parent.id, {}, neverAborted);
      expect(await stage.statusOf(child.id)).toBe("todo");
      expect(await codeOf(stage.operator.promote(child.id, undefined, neverAborted))).toBe(
        "task-move-refused",
      );
      const ready = await stage.add("ready");
      await stage.operator.hold(ready.id, true, neverAborted);
      await expect(stage.claim(ready.id)).rejects.toThrow("held");
      expect(await codeOf(stage.system.hold(ready.id, false, neverAborted))).toBe("board-action-denied");
      await stage.operator.hold(child.id, false, neverAborted);
      expect(await stage.statusOf(child.id)).toBe("ready");
      const { events } = await stage.store.show(child.id, neverAborted);
      expect(events.map(({ kind }) => kind)).toContain("hold_removed");
    });

    test("a second block of the same kind without an answer moves a task to triage; another kind restarts the count", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const block = async (kind: "needs_input" | "capability") => {
        const blocked = await stage.system.block(task.id, "why", kind, neverAborted);
        if (blocked.status === "blocked") await stage.operator.unblock(task.id, undefined, neverAborted);
        return blocked;
      };
      expect(await block("needs_input")).toMatchObject({ status: "blocked", block_recurrences: 1 });
      expect(await block("capability")).toMatchObject({ status: "blocked", block_recurrences: 1 });
      expect(await block("capability")).toMatchObject({ status: "triage", triage_reason: "block_loop" });
    });

    test("repeated blocks by a person never count as a loop and create no run", async () => {
      await using stage = await openStage(openLab);
      const { id } = await stage.add("a");
      for (let round = 0; round < 3; round++) {
        expect(await stage.operator.block(id, "not today", "needs_input", neverAborted)).toMatchObject({
          status: "blocked",
          block_recurrences: 0,
        });
        await stage.operator.unblock(id, undefined, neverAborted);
      }
      await stage.operator.schedule(id, stage.lab.now(), "after lunch", neverAborted);
      await stage.operator.unblock(id, undefined, neverAborted);
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      await stage.operator.requestChanges(id, "the tests are missing", neverAborted);
      const { runs, comments } = await stage.store.show(id, neverAborted);
      expect(runs).toEqual([]);
      expect(comments.map(({ body }) => body).slice(-2)).toEqual(["after lunch", "the tests are missing"]);
      // A block by a person resets the count, so the worker's next block is not a repetition.
      const claimed = await stage.claim(id);
      await stage.worker(claimed).block(id, "which one?", "needs_input", neverAborted);
      await stage.operator.unblock(id, undefined, neverAborted);
      await stage.operator.block(id, "wait", "needs_input", neverAborted);
      await stage.operator.unblock(id, undefined, neverAborted);
      await stage.lab.advance(3_600_000);
      const again = await stage.claim(id);
      expect(await stage.worker(again).block(id, "which?", "needs_input", neverAborted)).toMatchObject({
        status: "blocked",
        block_recurrences: 1,
      });
    });

    test("a block after a person's answer is a new question and never leads to triage", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const answers: readonly (() => Promise<unknown>)[] = [
        () => stage.operator.unblock(task.id, "use PostgreSQL", neverAborted),
        async () => {
          await stage.operator.comment(task.id, "use version 16", neverAborted);
          await stage.operator.unblock(task.id, undefined, neverAborted);
        },
        () => stage.operator.answer(task.id, "on port 5433", neverAborted),
        async () => {
          await stage.operator.edit(task.id, { body: "on host b" }, neverAborted);
          await stage.operator.unblock(task.id, undefined, neverAborted);
        },
      ];
      for (const answer of answers) {
        const claimed = await stage.claim(task.id);
        const worker = stage.worker(claimed);
        await worker.comment(task.id, "my own words are not an answer", neverAborted);
        expect(await worker.block(task.id, "which one?", "needs_input", neverAborted)).toMatchObject({
          status: "blocked",
        });
        await answer();
        await stage.lab.advance(3_600_000);
      }
      const asked = () => stage.system.block(task.id, "?", "needs_input", neverAborted);
      await asked();
      await stage.operator.unblock(task.id, undefined, neverAborted);
      expect(await asked()).toMatchObject({ status: "triage" });
    });

    test("a person moves a task out of triage by specify, answer, unblock or promote; an agent may not", async () => {
      await using stage = await openStage(openLab);
      const agent = stage.store.as({ kind: "agent", profile: "chat" });
      const operations: readonly ((id: string) => Promise<Task>)[] = [
        (id) => stage.operator.specify(id, { title: "clear", assignee: "coder" }, neverAborted),
        (id) => stage.operator.answer(id, "this one", neverAborted),
        (id) => stage.operator.unblock(id, undefined, neverAborted),
        (id) => stage.operator.promote(id, undefined, neverAborted),
        (id) => stage.operator.retry(id, { fresh: true }, neverAborted),
      ];
      for (const operation of operations) {
        const { id } = await stage.add("vague");
        await stage.system.block(id, "?", "needs_input", neverAborted);
        await stage.operator.unblock(id, undefined, neverAborted);
        await stage.system.block(id, "?", "needs_input", neverAborted);
        expect(await codeOf(agent.unblock(id, "go on", neverAborted))).toBe("board-action-denied");
        expect(await operation(id)).toMatchObject({
          status: "ready",
          triage_reason: null,
          block_recurrences: 0,
        });
        expect(await stage.system.block(id, "?", "needs_input", neverAborted)).toMatchObject({
          status: "blocked",
        });
      }
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("an archived task can be reopened; its key stays with a task that took it in the meantime", async () => {
      await using stage = await openStage(openLab);
      const old = await stage.add("old", { idempotencyKey: "k" });
      await stage.operator.archive(old.id, neverAborted);
      const successor = await stage.add("successor", { idempotencyKey: "k" });
      const { task } = await stage.operator.reopen(old.id, neverAborted);
      expect(task).toMatchObject({ status: "ready", archived_at: null, idempotency_key: null });
      expect((await stage.store.show(successor.id, neverAborted)).task.idempotency_key).toBe("k");
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("a task that was unassigned before its review is unassigned again after it, however it leaves the review", async () => {
      await using stage = await openStage(openLab);
      const { id } = await stage.add("work", { assignee: null });
      const unassigned = { status: "ready", assignee: null };
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      expect(await stage.operator.requestChanges(id, "no tests", neverAborted)).toMatchObject(unassigned);
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      expect(await stage.operator.reopenReview(id, "", neverAborted)).toMatchObject(unassigned);
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      await stage.operator.complete(id, { approval: true }, neverAborted);
      expect((await stage.operator.reopen(id, neverAborted)).task).toMatchObject(unassigned);
      // A person who assigned the task during the review has decided.
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      await stage.operator.assign(id, "carol", undefined, neverAborted);
      expect(await stage.operator.requestChanges(id, "no tests", neverAborted)).toMatchObject({
        assignee: "carol",
      });
    });

    test("a person approves work under review, or returns it to the implementer with a reason", async () => {
      await using stage = await openStage(openLab);
      const { id } = await stage.add("work");
      expect(await codeOf(stage.operator.complete(id, { approval: true }, neverAborted))).toBe(
        "task-move-refused",
      );
      await stage.operator.requestReview(id, "bob", { summary: "PR 12" }, neverAborted);
      expect(await stage.operator.requestChanges(id, "the tests are missing", neverAborted)).toMatchObject({
        status: "ready",
        assignee: "worker",
      });
      expect((await stage.store.show(id, neverAborted)).comments.at(-1)?.body).toBe("the tests are missing");
      await stage.operator.requestReview(id, "bob", {}, neverAborted);
      expect(
        await stage.operator.complete(id, { approval: true, result: "good" }, neverAborted),
      ).toMatchObject({
        status: "done",
      });
      // A reopened task belongs to the implementer and has no result.
      const again = { status: "ready", assignee: "worker", result: null };
      expect((await stage.operator.reopen(id, neverAborted)).task).toMatchObject(again);
      await stage.operator.complete(id, {}, neverAborted);
      await stage.operator.assign(id, "carol", undefined, neverAborted);
      expect((await stage.operator.reopen(id, neverAborted)).task).toMatchObject({ assignee: "carol" });
    });

    test("reopening a done task invalidates its descendants and ends their runs", async () => {
      await using stage = await openStage(openLab);
      const root = await stage.add("root");
      const middle = await stage.add("middle", { parents: [root.id] });
      const leaf = await stage.add("leaf", { parents: [middle.id] });
      await stage.operator.complete(root.id, {}, neverAborted);
      await stage.operator.complete(middle.id, {}, neverAborted);
      const claimed = await stage.claim(leaf.id);
      const { task, stopped } = await stage.operator.reopen(root.id, neverAborted);
      expect([task.status, stopped]).toEqual(["ready", [claimed.run.id]]);
      expect([await stage.statusOf(middle.id), await stage.statusOf(leaf.id)]).toEqual(["todo", "todo"]);
      expect(await codeOf(stage.worker(claimed).complete(leaf.id, { summary: "late" }, neverAborted))).toBe(
        "run-superseded",
      );
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("board G25: a task is split in one transaction, in order, and at most once", async () => {
      await using stage = await openStage(openLab);
      const root = await stage.add("root", { triage: true, tenant: "acme" });
      const loop = {
        parts: [
          { title: "x", after: [1] },
          { title: "y", after: [0] },
        ],
        assignee: "boss",
      };
      expect(await codeOf(stage.system.decompose(root.id, loop, neverAborted))).toBe("task-link-cycle");
      expect((await stage.store.list({}, neverAborted)).tasks).toHaveLength(1);
      const parts = [{ title: "x" }, { title: "y", after: [0] }];
      const split = await stage.system.decompose(root.id, { parts, assignee: "boss" }, neverAborted);
      expect(split.task).toMatchObject({ status: "todo", assignee: "boss" });
      const [x = "", y = ""] = split.parts;
      expect([await stage.statusOf(x), await stage.statusOf(y)]).toEqual(["ready", "todo"]);
      for (const id of [x, y, root.id]) await stage.operator.complete(id, {}, neverAborted);
      expect((await stage.store.show(x, neverAborted)).task.tenant).toBe("acme");
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test.each(Object.keys(LIST_ORDERS) as ListOrder[])(
      "the pages in order %s together are the whole list",
      async (order) => {
        await using stage = await openStage(openLab);
        for (const [title, assignee, priority] of [
          ["b", "z", 1],
          ["a", null, 1],
          ["Ä", "y", 3],
          ["a", "y", -2],
          ["c", null, 3],
        ] as const) {
          await stage.add(title, { assignee, priority });
          await stage.lab.advance(1);
        }
        const whole = await stage.store.list({ order, limit: 100 }, neverAborted);
        const paged: string[] = [];
        let after: string | undefined;
        do {
          const page = await stage.store.list(
            { order, limit: 2, ...(after !== undefined && { after }) },
            neverAborted,
          );
          paged.push(...page.tasks.map(({ id }) => id));
          after = page.next;
        } while (after !== undefined);
        expect(paged).toEqual(whole.tasks.map(({ id }) => id));
        expect(paged).toHaveLength(5);
        if (order === "priority")
          expect(whole.tasks.map(({ title }) => title)).toEqual(["Ä", "c", "b", "a", "a"]);
        if (order === "title")
          expect(whole.tasks.map(({ title }) => title)).toEqual(["a", "a", "b", "c", "Ä"]);
      },
    );

    test("a list applies its filters, hides archived tasks and refuses an invalid cursor", async () => {
      await using stage = await openStage(openLab);
      const a = await stage.add("a", { tenant: "x", assignee: null });
      const b = await stage.add("b", { sessionId: "s" });
      const c = await stage.add("c");
      await stage.operator.archive(c.id, neverAborted);
      const titles = async (query: Parameters<typeof stage.store.list>[0]) =>
        (await stage.store.list(query, neverAborted)).tasks.map(({ title }) => title);
      expect(await titles({})).toEqual(["a", "b"]);
      expect(await titles({ includeArchived: true })).toEqual(["a", "b", "c"]);
      expect(await titles({ status: "archived" })).toEqual(["c"]);
      expect(await titles({ assignee: null })).toEqual(["a"]);
      expect(await titles({ assignee: "Worker" })).toEqual(["b"]);
      expect(await titles({ tenant: "x" })).toEqual(["a"]);
      expect(await titles({ sessionId: "s" })).toEqual(["b"]);
      for (const after of ["", "[]", "{}", "[1]", '["a","b"]', "[1e400,1]"])
        expect(await codeOf(stage.store.list({ after }, neverAborted))).toBe("task-input-invalid");
      expect([a.id, b.id].every((id) => /^t_[0-9a-f]{12}$/.test(id))).toBe(true);
    });

    test("purging requires an archived task and leaves only a purged event", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const child = await stage.add("child", { parents: [task.id] });
      await stage.operator.comment(task.id, "hi", neverAborted);
      await stage.operator.complete(task.id, { summary: "s" }, neverAborted);
      expect(await codeOf(stage.operator.purge(task.id, neverAborted))).toBe("task-move-refused");
      await stage.operator.archive(task.id, neverAborted);
      await stage.operator.purge(task.id, neverAborted);
      expect(await codeOf(stage.store.show(task.id, neverAborted))).toBe("task-not-found");
      expect((await stage.store.show(child.id, neverAborted)).parents).toEqual([]);
      const events = await stage.store.events(0, undefined, neverAborted);
      expect(events.filter(({ task_id }) => task_id === task.id)).toEqual([]);
      expect(events.at(-1)).toMatchObject({ kind: "purged", payload: { task_id: task.id } });
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });
  });
}
