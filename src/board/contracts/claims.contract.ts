import { describe, expect, test } from "vitest";
import { type BoardLab, CLAIM, codeOf, exported, openStage } from "../../../test/support/board-lab.ts";

const never = new AbortController().signal;

export function claimsContract(openLab: () => Promise<BoardLab>): void {
  describe("claims and runs", () => {
    test("a claim opens a run with a token that no other answer shows", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { maxRuntimeSeconds: 7 });
      const claimed = await stage.claim(task.id, { supervisorPid: 42 });
      const { task: after, runs } = await stage.store.show(task.id, never);
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
      expect(claimed.token).toMatch(/^[0-9a-f]{32}$/);
      const seen = JSON.stringify([
        await stage.store.show(task.id, never),
        await stage.store.events(0, undefined, never),
        await exported(stage.store),
      ]);
      expect(seen).not.toContain(claimed.token);
    });

    test("a task has one open run at a time, whoever writes to the database", async () => {
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
      expect((await stage.store.show(task.id, never)).runs.map(({ id }) => id)).toEqual([run.id, run.id + 1]);
    });

    test("the number of a run is never given again, even when its task is deleted", async () => {
      await using stage = await openStage(openLab);
      const [kept, gone] = [await stage.add("kept"), await stage.add("gone")];
      const claimed = [await stage.claim(kept.id), await stage.claim(gone.id)];
      const last = claimed[1]?.run.id ?? 0;
      expect(last).toBeGreaterThan(claimed[0]?.run.id ?? last);
      await stage.operator.archive(gone.id, never);
      await stage.operator.purge(gone.id, never);
      await using copy = await openStage(openLab);
      const lines = await exported(stage.store);
      await copy.store.import({ kind: "system", name: "import" }, { lines }, never);
      for (const board of [stage, copy]) {
        const done = await board.add("by hand");
        await board.operator.complete(done.id, { summary: "a run of no length" }, never);
        const several = [await board.add("one"), await board.add("two"), await board.add("three")];
        const { claimed: runs } = await board.system.claimIds({ ...CLAIM, wanted: 2 }, never);
        const { claimed: single } = await board.system.claimIds({ ...CLAIM, wanted: 1 }, never);
        const ids = [
          ...(await board.store.show(done.id, never)).runs.map(({ id }) => id),
          ...[...runs, ...single].map(({ runId }) => runId),
        ];
        expect(new Set(ids).size).toBe(several.length + 1);
        expect(Math.min(...ids)).toBeGreaterThan(last);
        expect(await board.store.check(never)).toEqual([]);
      }
    });

    test("tasks are claimed by priority and then by age, and never one twice", async () => {
      await using stage = await openStage(openLab);
      for (const [title, priority] of [
        ["low", 0],
        ["high", 9],
        ["also low", 0],
        ["middle", 5],
      ] as const)
        await stage.add(title, { priority });
      const take = async (wanted: number) =>
        (await stage.system.claim({ ...CLAIM, wanted }, never)).claimed.map(({ task }) => task.title);
      expect(await take(3)).toEqual(["high", "middle", "low"]);
      expect(await take(3)).toEqual(["also low"]);
      expect(await take(3)).toEqual([]);
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("B6.12: eight clients that claim at once share the tasks without one twice, run rows and events included", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 40; n++) await stage.add(`n${n}`);
      const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
      const taken = await Promise.all(
        stores.map(async (store, n) => {
          const system = store.as({ kind: "system", name: `d${n}` });
          const mine: string[] = [];
          for (let idle = 0; idle < 3; ) {
            const { claimed } = await system.claim(
              { ...CLAIM, hostId: `h${n}`, wanted: 2, caps: { board: 40 } },
              never,
            );
            mine.push(...claimed.map(({ task }) => task.id));
            idle = claimed.length === 0 ? idle + 1 : 0;
          }
          return mine;
        }),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      expect(taken.flat()).toHaveLength(40);
      expect(new Set(taken.flat()).size).toBe(40);
      const events = await stage.store.events(0, 1_000, never);
      expect(events.filter(({ kind }) => kind === "claimed")).toHaveLength(40);
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("board G12: the smaller remainder of two caps wins, and what runs is counted once", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 6; n++) await stage.add(`n${n}`);
      await stage.system.claim({ ...CLAIM, wanted: 2 }, never);
      const { claimed } = await stage.system.claim(
        { ...CLAIM, wanted: 6, caps: { board: 3, host: 4 } },
        never,
      );
      expect(claimed).toHaveLength(1);
      const elsewhere = { ...CLAIM, wanted: 6, caps: { host: 6, elsewhere: 2 } };
      expect((await stage.system.claim(elsewhere, never)).claimed).toHaveLength(1);
      const other = { ...CLAIM, hostId: "host-2", wanted: 6, caps: { host: 1 } };
      expect((await stage.system.claim(other, never)).claimed).toHaveLength(1);
    });

    test("board G13: one profile does not take the places of others, by one number or by name", async () => {
      await using stage = await openStage(openLab);
      const tasks = [];
      for (const assignee of ["a", "a", "a", "b", "b", "c"])
        tasks.push(await stage.add(assignee, { assignee }));
      const wanted = tasks.map(({ id }) => id);
      const caps = { perProfile: { a: 1, b: 2, c: 0 } };
      const { claimed, refused } = await stage.system.claim({ ...CLAIM, wanted, caps }, never);
      expect(claimed.map(({ task }) => task.title)).toEqual(["a", "b", "b", "c"]);
      expect(refused.map(({ reason }) => reason)).toEqual(["profile-cap", "profile-cap"]);
      const next = { ...CLAIM, wanted: 5, caps: { perProfile: 1 } };
      expect((await stage.system.claim(next, never)).claimed).toEqual([]);
      await stage.operator.complete(wanted[0] ?? "", {}, never);
      expect((await stage.system.claim(next, never)).claimed.map(({ task }) => task.title)).toEqual(["a"]);
    });

    test("caps hold when eight claim at once", async () => {
      await using stage = await openStage(openLab);
      for (let n = 0; n < 24; n++) await stage.add(`n${n}`, { assignee: n % 2 === 0 ? "a" : "b" });
      const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
      const claims = await Promise.all(
        stores.map((store) =>
          store
            .as({ kind: "system", name: "d" })
            .claim({ ...CLAIM, wanted: 4, caps: { board: 5, perProfile: { a: 2 } } }, never),
        ),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      const names = claims.flatMap(({ claimed }) => claimed.map(({ task }) => task.assignee));
      expect(names.filter((name) => name === "a").length).toBeLessThanOrEqual(2);
      expect(names.length).toBeLessThanOrEqual(5);
      const more = await stage.system.claim(
        { ...CLAIM, wanted: 9, caps: { board: 5, perProfile: { a: 2 } } },
        never,
      );
      expect(names.length + more.claimed.length).toBe(5);
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("only tasks of the profiles that are asked for are claimed; an empty list claims nothing", async () => {
      await using stage = await openStage(openLab);
      for (const assignee of ["a", "b", null]) await stage.add("t", { assignee });
      const take = async (profiles: readonly string[]) =>
        (await stage.system.claim({ ...CLAIM, wanted: 9, profiles }, never)).claimed.map(
          ({ task }) => task.assignee,
        );
      expect(await take([])).toEqual([]);
      expect(await take(["b", "z"])).toEqual(["b"]);
    });

    test("board G18: nothing is claimed on a paused board, and what runs goes on", async () => {
      await using stage = await openStage(openLab);
      const [a, b] = [await stage.add("a"), await stage.add("b")];
      const running = await stage.claim(a.id);
      expect(await stage.operator.pause(true, never)).toBe(true);
      const claim = await stage.system.claim({ ...CLAIM, wanted: [b.id] }, never);
      expect(claim).toEqual({ claimed: [], refused: [{ taskId: b.id, reason: "paused" }] });
      expect((await stage.system.claim({ ...CLAIM, wanted: 5 }, never)).claimed).toEqual([]);
      await stage.worker(running).complete(a.id, { summary: "done" }, never);
      await stage.operator.pause(false, never);
      await stage.claim(b.id);
    });

    test("board G9: a new claim starts without the heartbeat of the one before", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const first = await stage.claim(task.id);
      await stage.worker(first).renew({}, never);
      await stage.lab.advance(60_000);
      expect(await stage.system.reclaimExpired(first.run.id, 0, never)).toBe(true);
      expect((await stage.claim(task.id)).run).toMatchObject({
        last_heartbeat_at: null,
        started_at: stage.lab.now(),
      });
    });

    test("board G10, board G46: renewing keeps a run alive without a row, a heartbeat adds one only for its note", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const claimed = await stage.claim(task.id);
      const before = (await stage.store.stats(never)).latestEventId;
      for (let n = 0; n < 6; n++) {
        await stage.lab.advance(10_000);
        expect(await stage.worker(claimed).renew(undefined, never)).toEqual({
          leaseUntil: stage.lab.now() + 30_000,
        });
        expect(await stage.store.expiredRuns(0, never)).toEqual([]);
      }
      expect((await stage.store.findRun(claimed.run.id, never))?.last_heartbeat_at).toBeNull();
      await stage.worker(claimed).renew({}, never);
      expect((await stage.store.findRun(claimed.run.id, never))?.last_heartbeat_at).toBe(stage.lab.now());
      expect((await stage.store.stats(never)).latestEventId).toBe(before);
      await stage.worker(claimed).renew({ note: "half way" }, never);
      expect((await stage.kinds(task.id)).at(-1)).toBe("heartbeat");
    });

    test("an expired run is taken back once its grace is over, to where it came from; a renewed one is not", async () => {
      await using stage = await openStage(openLab);
      const [a, b] = [await stage.add("a"), await stage.add("b")];
      await stage.operator.requestReview(b.id, "bob", {}, never);
      const [one, two] = [await stage.claim(a.id), await stage.claim(b.id, { from: "review" })];
      await stage.lab.advance(35_000);
      expect(await stage.system.reclaimExpired(one.run.id, 10_000, never)).toBe(false);
      expect(await stage.system.reclaimExpired(one.run.id, 5_000, never)).toBe(true);
      expect(await stage.system.reclaimExpired(one.run.id, 5_000, never)).toBe(false);
      await stage.system.reclaimExpired(two.run.id, 0, never);
      expect([await stage.statusOf(a.id), await stage.statusOf(b.id)]).toEqual(["ready", "review"]);
      expect((await stage.store.findRun(one.run.id, never))?.outcome).toBe("reclaimed");
      expect((await stage.store.show(a.id, never)).task.consecutive_failures).toBe(0);
      const renewed = await stage.claim(a.id);
      await stage.lab.advance(31_000);
      await stage.worker(renewed).renew(undefined, never);
      expect(await stage.system.reclaimExpired(renewed.run.id, 0, never)).toBe(false);
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("B6.31, board G19: failures are counted, wait before the next attempt and end in a block; only completion forgets them", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { maxRetries: 2 });
      const fail = async (outcome: "crashed" | "rate_limited", retryAfterMs = 0) =>
        stage.system.endRun(
          { runId: (await stage.claim(task.id)).run.id, outcome, error: "x".repeat(900), retryAfterMs },
          never,
        );
      expect(await fail("crashed", 5_000)).toEqual({ status: "ready" });
      await expect(stage.claim(task.id)).rejects.toThrow("waiting");
      await stage.lab.advance(5_000);
      expect(await fail("rate_limited")).toEqual({ status: "ready" });
      expect(await fail("crashed")).toEqual({ status: "blocked" });
      const { task: after, runs, events } = await stage.store.show(task.id, never);
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
      expect(await stage.system.recompute(undefined, never)).toEqual([]);
      await stage.operator.unblock(task.id, undefined, never);
      await stage.operator.complete(task.id, {}, never);
      expect((await stage.store.show(task.id, never)).task.consecutive_failures).toBe(0);
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("a task that was given up comes back for one attempt when its second chance has come", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const { run } = await stage.claim(task.id);
      await stage.system.endRun(
        { runId: run.id, outcome: "crashed", failureLimit: 1, secondChanceMs: 1_000 },
        never,
      );
      expect(await stage.system.recompute(1, never)).toEqual([]);
      await stage.lab.advance(1_000);
      expect(await stage.system.recompute(1, never)).toEqual([task.id]);
    });

    test("board G27: a reviewer is someone else, sends work back to its implementer, or completes it", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a", { assignee: "coder" });
      const work = await stage.claim(task.id);
      expect(await codeOf(stage.worker(work).requestReview(task.id, "Coder", {}, never))).toBe(
        "task-input-invalid",
      );
      await stage.worker(work).requestReview(task.id, "critic", { summary: "look" }, never);
      const review = await stage.claim(task.id, { from: "review" });
      expect(review.run).toMatchObject({ profile: "critic", source_status: "review" });
      const back = await stage.worker(review).requestChanges(task.id, "no tests", never);
      expect(back).toMatchObject({ status: "ready", assignee: "coder", phase: "work" });
      const again = await stage.claim(task.id);
      expect(await codeOf(stage.worker(again).requestChanges(task.id, "self", never))).toBe(
        "task-move-refused",
      );
      await stage.worker(again).requestReview(task.id, "critic", {}, never);
      expect((await stage.operator.complete(task.id, {}, never)).status).toBe("done");
      expect(await stage.store.check(never)).toEqual([]);
    });

    test("board G48: a run adds up what it used, and the board sums it", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const claimed = await stage.claim(task.id);
      const worker = stage.worker(claimed);
      await worker.describeRun(
        { workerPid: 77, workerIdentity: "{}", sessionId: "s", inputTokens: 10, costMicros: 5 },
        never,
      );
      await worker.describeRun({ inputTokens: 1, outputTokens: 2, costMicros: 5_000_000_000 }, never);
      expect(await stage.store.findRun(claimed.run.id, never)).toMatchObject({
        worker_pid: 77,
        session_id: "s",
        input_tokens: 11,
        output_tokens: 2,
        cost_micros: 5_000_000_005,
      });
      expect((await stage.store.stats(never)).costMicros).toBe(5_000_000_005);
      expect(await codeOf(worker.describeRun({ costMicros: -1 }, never))).toBe("task-input-invalid");
    });

    test("board G1: a lease has one holder of many who ask at once, ends with its time, and fences by its token", async () => {
      await using stage = await openStage(openLab);
      const stores = await Promise.all(Array.from({ length: 6 }, () => stage.lab.open()));
      const answers = await Promise.all(
        stores.map((store, n) =>
          store.as({ kind: "system", name: "d" }).acquireLease("dispatch", `o${n}`, 1_000, undefined, never),
        ),
      );
      for (const store of stores) await store[Symbol.asyncDispose]();
      const tokens = answers.flatMap((answer) => ("token" in answer ? [answer.token] : []));
      expect(tokens).toEqual([1]);
      const { system, lab } = stage;
      await lab.advance(900);
      expect(await system.renewLease("dispatch", 1, never)).toBe(true);
      await lab.advance(900);
      const held = await system.acquireLease("dispatch", "late", 1_000, undefined, never);
      expect(held).toMatchObject({ heldToken: 1, expiresAt: lab.now() + 100 });
      await lab.advance(100);
      expect(await system.acquireLease("dispatch", "next", 1_000, undefined, never)).toEqual({ token: 2 });
      expect(await system.renewLease("dispatch", 1, never)).toBe(false);
      expect(await system.acquireLease("dispatch", "heir", 1_000, 1, never)).toMatchObject({
        heldBy: "next",
      });
      expect(await system.acquireLease("dispatch", "heir", 1_000, 2, never)).toEqual({ token: 3 });
      expect(await system.releaseLease("dispatch", 3, never)).toBe(true);
      expect(await system.acquireLease("dispatch", "last", 1_000, undefined, never)).toEqual({ token: 4 });
    });

    test("a hand-over without a run is kept in one of no length", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      await stage.operator.complete(task.id, { summary: "by hand", metadata: { n: 1 } }, never);
      const { runs } = await stage.store.show(task.id, never);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toMatchObject({
        summary: "by hand",
        metadata: { n: 1 },
        started_at: runs[0]?.ended_at,
      });
      expect(await stage.store.check(never)).toEqual([]);
    });

    test.each(["complete", "archive"] as const)(
      "of eight that %s one task at once, one does it",
      async (verb) => {
        await using stage = await openStage(openLab);
        const stores = await Promise.all(Array.from({ length: 8 }, () => stage.lab.open()));
        const task = await stage.add("a");
        await stage.claim(task.id);
        const codes = await Promise.all(
          stores.map((store) => {
            const operator = store.as({ kind: "operator", name: "o" });
            return codeOf(
              verb === "complete" ? operator.complete(task.id, {}, never) : operator.archive(task.id, never),
            );
          }),
        );
        for (const store of stores) await store[Symbol.asyncDispose]();
        expect(codes.filter((code) => code === undefined)).toHaveLength(1);
        expect(codes.filter((code) => code === "task-move-refused")).toHaveLength(7);
        expect(
          (await stage.kinds(task.id)).filter((kind) => ["completed", "archived"].includes(kind)),
        ).toHaveLength(1);
        expect(await stage.store.check(never)).toEqual([]);
      },
    );
  });
}
