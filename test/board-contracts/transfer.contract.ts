import { describe, expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, codeOf, exportedLines, openSqliteLab, openStage } from "../support/board-lab.ts";

const DAY_MS = 86_400_000;
type Stage = Awaited<ReturnType<typeof openStage>>;

/** Fills a board with every kind of record. */
async function fill(stage: Stage): Promise<void> {
  const a = await stage.add("a", { skills: [], body: "b\u2028\u{1F600}", idempotencyKey: "k" });
  const b = await stage.add("b", { parents: [a.id], tenant: "t" });
  const claimed = await stage.claim(a.id);
  await stage.worker(claimed).comment(b.id, "note", neverAborted);
  await stage.operator.subscribe(b.id, { platform: "irc", chatId: "#x" }, neverAborted);
  await stage.operator.attach(b.id, { filename: "x.txt", storedPath: "/x", size: 3 }, neverAborted);
  await stage.worker(claimed).complete(a.id, { summary: "s", metadata: { ключ: "\uD800" } }, neverAborted);
  await stage.claim(b.id);
  const purged = await stage.add("purged");
  await stage.operator.archive(purged.id, neverAborted);
  await stage.operator.purge(purged.id, neverAborted);
}

export function transferContract(openLab: () => Promise<BoardLab>): void {
  describe("export, import and maintenance", () => {
    test("a board exported to SQLite and back is unchanged and usable", async () => {
      await using stage = await openStage(openLab);
      await fill(stage);
      const [header = "", ...lines] = await exportedLines(stage.store);
      await using copy = await openStage(openSqliteLab);
      await using back = await openStage(openLab);
      const system = { kind: "system", name: "import" } as const;
      await copy.store.import(system, { lines: [header, ...lines] }, neverAborted);
      await back.store.import(system, { lines: await exportedLines(copy.store) }, neverAborted);
      expect((await exportedLines(back.store)).slice(1)).toEqual(lines);
      expect(await back.store.check(neverAborted)).toEqual([]);
      const task = await back.add("next");
      await back.operator.comment(task.id, "works", neverAborted);
      await back.claim(task.id);
      expect(await back.store.check(neverAborted)).toEqual([]);
      expect((await back.store.events(0, 1_000, neverAborted)).at(-1)?.kind).toBe("claimed");
    });

    test("a run of an imported board has no session, because the exported board may still continue it", async () => {
      await using stage = await openStage(openLab);
      const { id } = await stage.add("a");
      const claimed = await stage.claim(id);
      await stage.worker(claimed).describeRun({ sessionId: "s", inputTokens: 10 }, neverAborted);
      await using copy = await openStage(openLab);
      const caller = { kind: "system", name: "import" } as const;
      await copy.store.import(caller, { lines: await exportedLines(stage.store) }, neverAborted);
      const { runs } = await copy.store.show(id, neverAborted);
      expect(runs).toMatchObject([{ session_id: null, input_tokens: 10 }]);
      expect(await copy.store.findRunOfSession("s", neverAborted)).toBeUndefined();
    });

    test.each([
      ["only its last line", () => []],
      ["no board", () => ['{"x":1}']],
      ["a torn line", (lines: string[]) => [...lines.slice(0, -1), lines.at(-1)?.slice(0, -5) ?? ""]],
      ["an unknown table", (lines: string[]) => [...lines, '{"table":"sqlite_schema","row":{"name":"x"}}']],
      [
        "an unknown column",
        (lines: string[]) => [...lines, '{"table":"counter","row":{"name":"x","value = 1; --":2}}'],
      ],
      ["a token", (lines: string[]) => [...lines, '{"table":"run","row":{"lease_token":"x"}}']],
      [
        "a row that violates a constraint",
        (lines: string[]) => [...lines, '{"table":"link","row":{"parent_id":"a","child_id":"b"}}'],
      ],
      ["a row twice", (lines: string[]) => [...lines, lines.at(-1) ?? ""]],
      [
        "a text for a number",
        (lines: string[]) => [...lines, '{"table":"counter","row":{"name":"n","value":"many"}}'],
      ],
    ])(
      "an import with %s is refused and imports nothing",
      async (_, corrupt: (lines: string[]) => string[]) => {
        await using stage = await openStage(openSqliteLab);
        await fill(stage);
        const [trailer = "", ...rows] = (await exportedLines(stage.store)).reverse();
        const lines = [...corrupt(rows.reverse()), trailer];
        await using target = await openStage(openLab);
        const caller = { kind: "system", name: "import" } as const;
        const before = await exportedLines(target.store);
        expect(await codeOf(target.store.import(caller, { lines }, neverAborted))).toBe(
          "board-import-invalid",
        );
        expect(await exportedLines(target.store)).toEqual(before);
      },
    );

    test("an import without lines, without its last line or with a line after it is refused", async () => {
      await using stage = await openStage(openSqliteLab);
      await fill(stage);
      const lines = await exportedLines(stage.store);
      await using target = await openStage(openLab);
      const caller = { kind: "system", name: "import" } as const;
      for (const wrong of [[], lines.slice(0, -1), [...lines, lines.at(-1) ?? ""], lines.toSpliced(-2, 1)])
        expect(await codeOf(target.store.import(caller, { lines: wrong }, neverAborted))).toBe(
          "board-import-invalid",
        );
      expect(await target.store.import(caller, { lines }, neverAborted)).toBe(lines.length - 2);
    });

    test("an import into a board with tasks is refused", async () => {
      await using stage = await openStage(openLab);
      await stage.add("a");
      const lines = await exportedLines(stage.store);
      expect(await codeOf(stage.store.import({ kind: "system", name: "x" }, { lines }, neverAborted))).toBe(
        "board-not-empty",
      );
    });

    test("A6: old events of finished tasks are deleted, those of open tasks and decomposed events stay, and ids continue", async () => {
      await using stage = await openStage(openLab);
      const [done, open] = [await stage.add("done"), await stage.add("open")];
      const root = await stage.add("root", { triage: true });
      const split = await stage.system.decompose(
        root.id,
        { parts: [{ title: "p" }], assignee: "x" },
        neverAborted,
      );
      for (const id of [...split.parts, root.id, done.id])
        await stage.operator.complete(id, {}, neverAborted);
      await stage.operator.subscribe(done.id, { platform: "irc", chatId: "#x" }, neverAborted);
      const last = (await stage.store.stats(neverAborted)).latestEventId;
      await stage.lab.advance(31 * DAY_MS);
      const collected = await stage.operator.collectGarbage(
        { eventDays: 30, subscriptionDays: 30 },
        neverAborted,
      );
      expect(collected.subscriptions).toBe(1);
      expect(await stage.kinds(done.id)).toEqual([]);
      expect(await stage.kinds(root.id)).toEqual(["decomposed"]);
      expect(await stage.kinds(open.id)).toEqual(["created"]);
      expect(await stage.store.check(neverAborted)).toEqual([]);
      await stage.operator.complete(open.id, {}, neverAborted);
      expect((await stage.store.stats(neverAborted)).latestEventId).toBe(last + 1);
    });

    test.each([
      [
        "a run that its task does not refer to",
        "update task set status = 'ready', current_run_id = null where status = 'running'",
      ],
      ["a counter that is wrong", "update counter set value = 7 where name = 'running'"],
      ["a status without its event", "update task set status = 'triage' where status = 'ready'"],
      ["a missing event of a creation", "delete from event where kind = 'created'"],
      ["a missing event of a claim", "delete from event where kind = 'claimed'"],
      ["an event of no task", "update event set task_id = 't_none' where kind = 'commented'"],
      ["an event beyond its counter", "update counter set value = 1 where name = 'event'"],
    ])("a check finds %s", async (_, damage) => {
      await using stage = await openStage(openLab);
      await fill(stage);
      await stage.add("ready");
      expect(await stage.store.check(neverAborted)).toEqual([]);
      await stage.lab.raw(damage);
      expect((await stage.store.check(neverAborted)).length).toBeGreaterThan(0);
    });

    test("repair corrects the counters and returns how many were wrong", async () => {
      await using stage = await openStage(openLab);
      await fill(stage);
      await stage.lab.raw("update counter set value = 7 where name like 'running%'");
      expect(await stage.operator.repairCounters(neverAborted)).toBeGreaterThan(0);
      expect(await stage.store.check(neverAborted)).toEqual([]);
      expect(await stage.operator.repairCounters(neverAborted)).toBe(0);
    });

    test("board G38: the events of a subscription are delivered once, in order, from its start", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const sub = await stage.operator.subscribe(task.id, { platform: "irc", chatId: "#x" }, neverAborted);
      await stage.operator.comment(task.id, "one", neverAborted);
      await stage.operator.complete(task.id, {}, neverAborted);
      await using other = await stage.lab.open();
      const second = other.as({ kind: "system", name: "other" });
      const taken = await Promise.all([
        stage.system.takeEvents(sub, neverAborted),
        second.takeEvents(sub, neverAborted),
      ]);
      expect(taken.flat().map(({ kind }) => kind)).toEqual(["commented", "completed"]);
      expect(await stage.system.takeEvents(sub, neverAborted)).toEqual([]);
      expect(await stage.operator.unsubscribe(sub, neverAborted)).toBe(true);
    });

    test("readers see the events of concurrent writers in the order of their ids", async () => {
      await using stage = await openStage(openLab);
      const stores = await Promise.all(Array.from({ length: 4 }, () => stage.lab.open()));
      const tasks = [await stage.add("a"), await stage.add("b"), await stage.add("c"), await stage.add("d")];
      const seen: number[] = [];
      const stop = new AbortController();
      const reader = (async () => {
        let cursor = 0;
        while (!stop.signal.aborted) {
          const events = await stage.store.events(cursor, undefined, neverAborted);
          seen.push(...events.map(({ id }) => id));
          cursor = seen.at(-1) ?? 0;
        }
        seen.push(...(await stage.store.events(cursor, undefined, neverAborted)).map(({ id }) => id));
      })();
      await Promise.all(
        stores.map(async (store, n) => {
          const writer = store.as({ kind: "operator", name: `o${n}` });
          for (let k = 0; k < 25; k++) await writer.comment(tasks[n]?.id ?? "", `${k}`, neverAborted);
        }),
      );
      stop.abort();
      await reader;
      for (const store of stores) await store[Symbol.asyncDispose]();
      expect(seen).toEqual(Array.from({ length: 104 }, (_, index) => index + 1));
    });

    test("C4: the context of a worker is truncated and counts what was omitted", async () => {
      await using stage = await openStage(openLab);
      const parent = await stage.add("parent");
      await stage.operator.complete(
        parent.id,
        { summary: "handed over", metadata: { key: 1 } },
        neverAborted,
      );
      const task = await stage.add("a", { parents: [parent.id], body: "y".repeat(9_000), maxRetries: 99 });
      for (let n = 0; n < 12; n++) {
        const { run } = await stage.claim(task.id);
        await stage.system.endRun(
          { runId: run.id, outcome: "crashed", error: "z".repeat(5_000) },
          neverAborted,
        );
      }
      for (let n = 0; n < 31; n++)
        await stage.operator.comment(task.id, `${n}${"c".repeat(3_000)}`, neverAborted);
      const context = await stage.store.context(task.id, neverAborted);
      expect(context.body).toHaveLength(8_192);
      expect([context.attempts.length, context.omittedAttempts]).toEqual([10, 2]);
      expect(context.attempts[0]?.error).toHaveLength(4_096);
      expect([context.comments.length, context.omittedComments]).toEqual([30, 1]);
      expect(context.comments.every(({ body }) => body.length === 2_048)).toBe(true);
      expect(context.parents).toMatchObject([
        { taskId: parent.id, summary: "handed over", metadata: '{"key":1}' },
      ]);
    });

    test("diagnose finds and grades ghosts, failures, stuck and stranded tasks", async () => {
      await using stage = await openStage(openLab);
      const rules = {
        failureThreshold: 3,
        crashThreshold: 2,
        blockedStaleHours: 24,
        strandedThresholdSeconds: 1_800,
        stormTasksPerHour: 3,
      };
      const [ghost, stranded, stuck, flaky] = [
        await stage.add("ghost"),
        await stage.add("stranded"),
        await stage.add("stuck"),
        await stage.add("flaky", { maxRetries: 9 }),
      ];
      for (let n = 0; n < 3; n++) {
        const { run } = await stage.claim(flaky.id);
        await stage.system.endRun({ runId: run.id, outcome: "crashed" }, neverAborted);
      }
      await stage.claim(ghost.id);
      await stage.operator.block(stuck.id, "no", undefined, neverAborted);
      await stage.operator.hold(flaky.id, true, neverAborted);
      expect((await stage.store.diagnose(rules, undefined, neverAborted)).map(({ kind }) => kind)).toEqual([
        "repeated_failures",
        "repeated_crashes",
      ]);
      await stage.lab.advance(DAY_MS);
      const found = (await stage.store.diagnose(rules, undefined, neverAborted)).map((one) => [
        one.kind,
        one.severity,
        one.taskId,
      ]);
      expect(found).toEqual([
        ["ghost_running", "critical", ghost.id],
        ["repeated_failures", "error", flaky.id],
        ["repeated_crashes", "error", flaky.id],
        ["stuck_in_blocked", "warning", stuck.id],
        ["stranded_in_ready", "critical", stranded.id],
      ]);
    });

    test("diagnose returns the first 200 tasks of each finding, and how many there are", async () => {
      await using stage = await openStage(openLab);
      const copies = Array.from({ length: 150 }, (_, n) => `select ${n} as n`).join(" union all ");
      for (const [from, status] of ["ready", "ready", "blocked", "blocked"].entries())
        await stage.lab.raw(`insert into task (id, title, assignee, status, ready_at, created_by, created_at, updated_at)
          select 't_many' || (1000 * ${from} + n), 'n', 'alpha', '${status}', 0, 'test', 0, 0 from (${copies}) as many`);
      const limits = { failureThreshold: 3, crashThreshold: 2, stormTasksPerHour: 3 };
      const rules = { ...limits, blockedStaleHours: 0, strandedThresholdSeconds: 0 };
      const found = await stage.store.diagnose(rules, undefined, neverAborted);
      for (const kind of ["stuck_in_blocked", "stranded_in_ready"]) {
        const ofKind = found.filter((one) => one.kind === kind);
        expect(ofKind).toHaveLength(200);
        for (const { total } of ofKind) expect(total).toBe(300);
      }
    });

    test("an attachment gets a valid, free name, and its removal returns its file", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const attach = (filename: string, size = 1) =>
        stage.operator.attach(task.id, { filename, storedPath: "/files/1", size }, neverAborted);
      expect((await attach("a.txt")).filename).toBe("a.txt");
      const second = await attach("a.txt");
      expect([second.filename, (await attach("a.txt")).filename]).toEqual(["a (1).txt", "a (2).txt"]);
      for (const name of ["../x", "a/b", ".env", "a\nb", "", "x".repeat(201)])
        expect(await codeOf(attach(name))).toBe("task-input-invalid");
      expect(await codeOf(attach("big", 26 * 1024 * 1024))).toBe("task-input-invalid");
      expect(await stage.operator.removeAttachment(second.id, neverAborted)).toEqual(second);
      expect(await stage.operator.removeAttachment(second.id, neverAborted)).toBeUndefined();
    });
  });
}
