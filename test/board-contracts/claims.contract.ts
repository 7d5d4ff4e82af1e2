import { describe, expect, test } from "vitest";
import type { Steps } from "../../src/board/database/steps.ts";
import { DISPATCHER } from "../../src/board/dispatcher/dispatch-board.ts";
import {
  findLeaseHolder,
  LEASE_MS,
  LeaseLost,
  releaseLease,
  requireLease,
  takeLease,
} from "../../src/board/dispatcher/transactions/board-lease.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, CLAIM, claimNext, codeOf, exportedLines, openStage } from "../support/board-lab.ts";

export function claimsContract(openLab: () => Promise<BoardLab>): void {
  describe("claims and runs", () => {
    test("a claim opens a run with a token that no other operation returns", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { maxRuntimeSeconds: 7 });
      const claimed = await stage.claim(task.id, { supervisorPid: 42 });
      const { task: after, runs } = await stage.store.show(task.id, neverAborted);
      expect(after).toMatchObject({
        status: "running",
        current_run_id: claimed.run.id,
        started_at: stage.lab.now(),
      });
      expect(runs).toEqual([claimed.run]);
      expect(claimed.run).toMatchObject({
        profile: "worker",
        host_id: "host-1",
        supervisor_pid: 42,
        lease_until: stage.lab.now() + 30_000,
        max_runtime_seconds: 7,
        last_heartbeat_at: null,
        ended_at: null,
      });
      expect(claimed.token).toMatch(/^[0-9a-f]{32}-50-5$/);
      const seen = JSON.stringify([
        await stage.store.show(task.id, neverAborted),
        await stage.store.events(0, undefined, neverAborted),
        await exportedLines(stage.store),
      ]);
      expect(seen).not.toContain(claimed.token);
    });

    test("a task has at most one open run, even when SQL is written directly", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const { run } = await stage.claim(task.id);
      const again = (set: string) =>
        stage.lab.raw(`
          insert into run (id, task_id, source_status, lease_token, lease_ms, lease_until, started_at, ended_at, outcome)
          select id + 1, task_id, 'ready', 'x', 1, 1, 1, ${set} from run`);
      await expect(again("null, null")).rejects.toThrow(/unique/i);
      await again("2, 'released'");
      await expect(stage.lab.raw("update run set ended_at = null, outcome = null")).rejects.toThrow(
        /unique/i,
      );
      expect((await stage.store.show(task.id, neverAborted)).runs.map(({ id }) => id)).toEqual([
        run.id,
        run.id + 1,
      ]);
    });

    test("the id of a run is never reused, even when its task is deleted", async () => {
      await using stage = await openStage(openLab);
      const [kept, gone] = [await stage.add("kept"), await stage.add("gone")];
      const claimed = [await stage.claim(kept.id), await stage.claim(gone.id)];
      const last = claimed[1]?.run.id ?? 0;
      expect(last).toBeGreaterThan(claimed[0]?.run.id ?? last);
      await stage.operator.archive(gone.id, neverAborted);
      await stage.operator.purge(gone.id, neverAborted);
      await using copy = await openStage(openLab);
      const lines = await exportedLines(stage.store);
      await copy.store.import({ kind: "system", name: "import" }, { lines }, neverAborted);
      for (const board of [stage, copy]) {
        const done = await board.add("by hand");
        await board.operator.complete(done.id, { summary: "a run of no length" }, neverAborted);
        const several = [await board.add("one"), await board.add("two"), await board.add("three")];
        const { claimed: runs } = await claimNext(board.store, 2);
        const { claimed: single } = await claimNext(board.store, 1);
        const ids = [
          ...(await board.store.show(done.id, neverAborted)).runs.map(({ id }) => id),
          ...[...runs, ...single].map(({ run }) => run.id),
        ];
        expect(new Set(ids).size).toBe(several.length + 1);
        expect(Math.min(...ids)).toBeGreaterThan(last);
        expect(await board.store.check(neverAborted)).toEqual([]);
      }
    });

    test("tasks are claimed by priority and then by age, and no task is claimed twice", async () => {
      await using stage = await openStage(openLab);
      for (const [title, priority] of [
        ["low", 0],
        ["high", 9],
        ["also low", 0],
        ["middle", 5],
      ] as const)
        await stage.add(title, { priority });
      const take = async (wanted: number) =>
        (await claimNext(stage.store, wanted)).claimed.map(({ task }) => task.title);
      expect(await take(3)).toEqual(["high", "middle", "low"]);
      expect(await take(3)).toEqual(["also low"]);
      expect(await take(3)).toEqual([]);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("B6.12: eight concurrent clients claim each task once, with one run and one event per task", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 40; n++) await stage.add(`n${n}`);
      const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
      const taken = await Promise.all(
        stores.map(async (store, n) => {
          const mine: string[] = [];
          for (;;) {
            const { claimed, refused } = await claimNext(store, 2, { hostId: `h${n}`, caps: { board: 40 } });
            mine.push(...claimed.map(({ task }) => task.id));
            if (claimed.length + refused.length === 0) return mine; // no task is ready any more
          }
        }),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      expect(taken.flat()).toHaveLength(40);
      expect(new Set(taken.flat()).size).toBe(40);
      const events = await stage.store.events(0, 1_000, neverAborted);
      expect(events.filter(({ kind }) => kind === "claimed")).toHaveLength(40);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("board G12: the cap with less remaining capacity limits a claim, and each running task is counted once", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 6; n++) await stage.add(`n${n}`);
      await claimNext(stage.store, 2);
      const { claimed } = await claimNext(stage.store, 6, { caps: { board: 3, host: 4 } });
      expect(claimed).toHaveLength(1);
      const elsewhere = { caps: { host: 6, runningElsewhere: 2 } };
      expect((await claimNext(stage.store, 6, elsewhere)).claimed).toHaveLength(1);
      const other = { hostId: "host-2", caps: { host: 1 } };
      expect((await claimNext(stage.store, 6, other)).claimed).toHaveLength(1);
    });

    test("board G13: a profile cap, given as one number or by name, leaves capacity for other profiles", async () => {
      await using stage = await openStage(openLab);
      const tasks = [];
      for (const assignee of ["a", "a", "a", "b", "b", "c"])
        tasks.push(await stage.add(assignee, { assignee }));
      const taskIds = tasks.map(({ id }) => id);
      const caps = { perProfile: { a: 1, b: 2, c: 0 } };
      const { claimed, refused } = await stage.system.claim({ ...CLAIM, taskIds, caps }, neverAborted);
      expect(claimed.map(({ task }) => task.title)).toEqual(["a", "b", "b", "c"]);
      expect(refused.map(({ reason }) => reason)).toEqual(["profile-cap", "profile-cap"]);
      const next = () => claimNext(stage.store, 5, { caps: { perProfile: 1 } });
      expect((await next()).claimed).toEqual([]);
      await stage.operator.complete(taskIds[0] ?? "", {}, neverAborted);
      expect((await next()).claimed.map(({ task }) => task.title)).toEqual(["a"]);
    });

    test("eight concurrent claims do not exceed the caps", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 24; n++) await stage.add(`n${n}`, { assignee: n % 2 === 0 ? "a" : "b" });
      const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
      const claims = await Promise.all(
        stores.map((store) => claimNext(store, 4, { caps: { board: 5, perProfile: { a: 2 } } })),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      const names = claims.flatMap(({ claimed }) => claimed.map(({ task }) => task.assignee));
      expect(names.filter((name) => name === "a").length).toBeLessThanOrEqual(2);
      expect(names.length).toBeLessThanOrEqual(5);
      const more = await claimNext(stage.store, 9, { caps: { board: 5, perProfile: { a: 2 } } });
      expect(names.length + more.claimed.length).toBe(5);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("only tasks of the requested profiles are claimed; an empty list claims nothing", async () => {
      await using stage = await openStage(openLab);
      for (const assignee of ["a", "b", null]) await stage.add("t", { assignee });
      const take = async (profiles: readonly string[]) =>
        (await claimNext(stage.store, 9, { profiles })).claimed.map(({ task }) => task.assignee);
      expect(await take([])).toEqual([]);
      expect(await take(["b", "z"])).toEqual(["b"]);
    });

    test("board G18: nothing is claimed on a paused board, and running tasks continue", async () => {
      await using stage = await openStage(openLab);
      const [a, b] = [await stage.add("a"), await stage.add("b")];
      const running = await stage.claim(a.id);
      expect(await stage.operator.pause(true, neverAborted)).toBe(true);
      const claim = await stage.system.claim({ ...CLAIM, taskIds: [b.id] }, neverAborted);
      expect(claim).toEqual({ claimed: [], refused: [{ taskId: b.id, reason: "paused" }] });
      expect((await claimNext(stage.store, 5)).claimed).toEqual([]);
      await stage.worker(running).complete(a.id, { summary: "done" }, neverAborted);
      await stage.operator.pause(false, neverAborted);
      await stage.claim(b.id);
    });

    test("board G9: a new claim does not inherit the heartbeat of the previous claim", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const first = await stage.claim(task.id);
      await stage.worker(first).renew({}, neverAborted);
      await stage.lab.advance(60_000);
      expect(await stage.system.reclaimExpired(first.run.id, 0, neverAborted)).toBe(true);
      expect((await stage.claim(task.id)).run).toMatchObject({
        last_heartbeat_at: null,
        started_at: stage.lab.now(),
      });
    });

    test("board G10, board G46: renewing extends the lease without an event; a heartbeat adds an event only for a note", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const claimed = await stage.claim(task.id);
      const before = (await stage.store.stats(neverAborted)).latestEventId;
      for (let n = 0; n < 6; n++) {
        await stage.lab.advance(10_000);
        expect(await stage.worker(claimed).renew(undefined, neverAborted)).toEqual({
          leaseUntil: stage.lab.now() + 30_000,
        });
        expect(await stage.store.expiredRuns(0, neverAborted)).toEqual([]);
      }
      expect((await stage.store.findRun(claimed.run.id, neverAborted))?.last_heartbeat_at).toBeNull();
      await stage.worker(claimed).renew({}, neverAborted);
      expect((await stage.store.findRun(claimed.run.id, neverAborted))?.last_heartbeat_at).toBe(
        stage.lab.now(),
      );
      expect((await stage.store.stats(neverAborted)).latestEventId).toBe(before);
      await stage.worker(claimed).renew({ note: "half way" }, neverAborted);
      expect((await stage.kinds(task.id)).at(-1)).toBe("heartbeat");
    });

    test("an expired run is reclaimed after the grace period to its source status; a renewed run is not", async () => {
      await using stage = await openStage(openLab);
      const [a, b] = [await stage.add("a"), await stage.add("b")];
      await stage.operator.requestReview(b.id, "bob", {}, neverAborted);
      const [one, two] = [await stage.claim(a.id), await stage.claim(b.id, { from: "review" })];
      await stage.lab.advance(35_000);
      expect(await stage.system.reclaimExpired(one.run.id, 10_000, neverAborted)).toBe(false);
      expect(await stage.system.reclaimExpired(one.run.id, 5_000, neverAborted)).toBe(true);
      expect(await stage.system.reclaimExpired(one.run.id, 5_000, neverAborted)).toBe(false);
      await stage.system.reclaimExpired(two.run.id, 0, neverAborted);
      expect([await stage.statusOf(a.id), await stage.statusOf(b.id)]).toEqual(["ready", "review"]);
      expect((await stage.store.findRun(one.run.id, neverAborted))?.outcome).toBe("reclaimed");
      expect((await stage.store.show(a.id, neverAborted)).task.consecutive_failures).toBe(0);
      const renewed = await stage.claim(a.id);
      await stage.lab.advance(31_000);
      await stage.worker(renewed).renew(undefined, neverAborted);
      expect(await stage.system.reclaimExpired(renewed.run.id, 0, neverAborted)).toBe(false);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("B6.31, board G19: failures are counted, delay the next attempt and end in a block; only completion resets the count", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { maxRetries: 2 });
      const fail = async (outcome: "crashed" | "rate_limited", retryAfterMs = 0) =>
        stage.system.endRun(
          { runId: (await stage.claim(task.id)).run.id, outcome, error: "x".repeat(900), retryAfterMs },
          neverAborted,
        );
      expect(await fail("crashed", 5_000)).toEqual({ status: "ready" });
      await expect(stage.claim(task.id)).rejects.toThrow("waiting");
      await stage.lab.advance(5_000);
      expect(await fail("rate_limited")).toEqual({ status: "ready" });
      expect(await fail("crashed")).toEqual({ status: "blocked" });
      const { task: after, runs, events } = await stage.store.show(task.id, neverAborted);
      expect(after).toMatchObject({
        consecutive_failures: 2,
        last_failure_error: "x".repeat(500),
        block_sticky: false,
      });
      expect(runs.map(({ outcome }) => outcome)).toEqual(["crashed", "rate_limited", "gave_up"]);
      expect(events.at(-1)).toMatchObject({
        kind: "gave_up",
        payload: { effective_limit: 2, limit_source: "task" },
      });
      expect(await stage.system.recompute(undefined, neverAborted)).toEqual([]);
      await stage.operator.unblock(task.id, undefined, neverAborted);
      await stage.operator.complete(task.id, {}, neverAborted);
      expect((await stage.store.show(task.id, neverAborted)).task.consecutive_failures).toBe(0);
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("a task that was given up gets one more attempt after the second-chance delay", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const { run } = await stage.claim(task.id);
      await stage.system.endRun(
        { runId: run.id, outcome: "crashed", failureLimit: 1, secondChanceMs: 1_000 },
        neverAborted,
      );
      expect(await stage.system.recompute(1, neverAborted)).toEqual([]);
      await stage.lab.advance(1_000);
      expect(await stage.system.recompute(1, neverAborted)).toEqual([task.id]);
    });

    test("board G27: a reviewer is not the implementer, and returns the work or completes it", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { assignee: "coder" });
      const work = await stage.claim(task.id);
      expect(await codeOf(stage.worker(work).requestReview(task.id, "Coder", {}, neverAborted))).toBe(
        "task-input-invalid",
      );
      await stage.worker(work).requestReview(task.id, "critic", { summary: "look" }, neverAborted);
      const review = await stage.claim(task.id, { from: "review" });
      expect(review.run).toMatchObject({ profile: "critic", source_status: "review" });
      const back = await stage.worker(review).requestChanges(task.id, "no tests", neverAborted);
      expect(back).toMatchObject({ status: "ready", assignee: "coder", phase: "work" });
      const again = await stage.claim(task.id);
      expect(await codeOf(stage.worker(again).requestChanges(task.id, "self", neverAborted))).toBe(
        "task-move-refused",
      );
      await stage.worker(again).requestReview(task.id, "critic", {}, neverAborted);
      expect((await stage.operator.complete(task.id, {}, neverAborted)).status).toBe("done");
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test("board G48: a run accumulates its usage, and the board sums the cost", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const claimed = await stage.claim(task.id);
      const worker = stage.worker(claimed);
      await worker.describeRun(
        { workerPid: 77, workerIdentity: "{}", sessionId: "s", inputTokens: 10, costMicros: 5 },
        neverAborted,
      );
      await worker.describeRun({ inputTokens: 1, outputTokens: 2, costMicros: 5_000_000_000 }, neverAborted);
      expect(await stage.store.findRun(claimed.run.id, neverAborted)).toMatchObject({
        worker_pid: 77,
        session_id: "s",
        input_tokens: 11,
        output_tokens: 2,
        cost_micros: 5_000_000_005,
      });
      expect((await stage.store.stats(neverAborted)).costMicros).toBe(5_000_000_005);
      expect(await codeOf(worker.describeRun({ costMicros: -1 }, neverAborted))).toBe("task-input-invalid");
    });

    test("board G1: one of many concurrent requests gets a lease; the lease expires and its token fences old holders", async () => {
      await using stage = await openStage(openLab);
      const stores = await Promise.all(Array.from({ length: 6 }, () => stage.lab.open()));
      const tokens = await Promise.all(
        stores.map(({ forDispatcher }, n) =>
          forDispatcher.write(DISPATCHER, () => takeLease(`o${n}`), neverAborted),
        ),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      expect(tokens.filter((token) => token !== undefined)).toEqual([1]);
      const { lab } = stage;
      const write = <Result>(steps: () => Steps<Result>) =>
        stage.store.forDispatcher.write(DISPATCHER, steps, neverAborted);
      await lab.advance(LEASE_MS - 100);
      await write(() => requireLease(1)); // renews the lease
      await lab.advance(LEASE_MS - 100);
      expect(await write(() => takeLease("late"))).toBeUndefined();
      expect(await stage.store.forDispatcher.read(findLeaseHolder, neverAborted)).toMatchObject({
        token: 1,
        expires_at: lab.now() + 100,
      });
      await lab.advance(100);
      expect(await write(() => takeLease("next"))).toBe(2);
      await expect(write(() => requireLease(1))).rejects.toThrow(LeaseLost);
      expect(await write(() => takeLease("heir", 1))).toBeUndefined();
      expect(await write(() => takeLease("heir", 2))).toBe(3);
      await write(() => releaseLease(3));
      expect(await write(() => takeLease("last"))).toBe(4);
    });

    test("a handoff without an open run is stored in an already ended run", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      await stage.operator.complete(task.id, { summary: "by hand", metadata: { n: 1 } }, neverAborted);
      const { runs } = await stage.store.show(task.id, neverAborted);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toMatchObject({
        summary: "by hand",
        metadata: { n: 1 },
        started_at: runs[0]?.ended_at,
      });
      expect(await stage.store.check(neverAborted)).toEqual([]);
    });

    test.each(["complete", "archive"] as const)(
      "of eight clients that %s one task at once, exactly one succeeds",
      async (verb) => {
        await using stage = await openStage(openLab);
        const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
        const task = await stage.add("a");
        await stage.claim(task.id);
        const codes = await Promise.all(
          stores.map((store) => {
            const operator = store.as({ kind: "operator", name: "o" });
            return codeOf(
              verb === "complete"
                ? operator.complete(task.id, {}, neverAborted)
                : operator.archive(task.id, neverAborted),
            );
          }),
        );
        for (const store of stores) await store[Symbol.asyncDispose]();
        expect(codes.filter((code) => code === undefined)).toHaveLength(1);
        expect(codes.filter((code) => code === "task-move-refused")).toHaveLength(7);
        expect(
          (await stage.kinds(task.id)).filter((kind) => ["completed", "archived"].includes(kind)),
        ).toHaveLength(1);
        expect(await stage.store.check(neverAborted)).toEqual([]);
      },
    );
  });
}
