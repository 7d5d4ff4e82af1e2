import { describe, expect, test } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, codeOf, exportedLines, openStage, runCaller } from "../support/board-lab.ts";

export function rightsContract(openLab: () => Promise<BoardLab>): void {
  describe("rights", () => {
    test("board G40: a worker changes only its own task, with its own token, and is recorded as its profile", async () => {
      await using stage = await openStage(openLab);
      const [mine, other] = [await stage.add("mine"), await stage.add("other")];
      const claimed = await stage.claim(mine.id);
      const foreign = await stage.claim(other.id);
      const worker = stage.worker(claimed);
      expect(await codeOf(worker.complete(other.id, { summary: "x" }, neverAborted))).toBe(
        "board-action-denied",
      );
      expect(await codeOf(worker.block(other.id, "x", undefined, neverAborted))).toBe("board-action-denied");
      expect(await codeOf(worker.endRun({ runId: foreign.run.id, outcome: "crashed" }, neverAborted))).toBe(
        "board-action-denied",
      );
      const forged = stage.store.as(runCaller(other, foreign.run, claimed.token));
      expect(await codeOf(forged.complete(other.id, { summary: "x" }, neverAborted))).toBe("run-superseded");
      expect(await codeOf(forged.comment(mine.id, "x", neverAborted))).toBe("run-superseded");
      const comment = await worker.comment(other.id, "hello", neverAborted);
      expect(comment.author).toBe("worker");
      const created = await worker.create({ title: "new" }, neverAborted);
      expect(created.task).toMatchObject({ created_by: "worker", origin_task_id: mine.id });
    });

    test("a worker links and attaches only to its own task and to tasks it created", async () => {
      await using stage = await openStage(openLab);
      const [mine, other, third] = [
        await stage.add("mine"),
        await stage.add("other"),
        await stage.add("third"),
      ];
      await stage.operator.link(other.id, third.id, neverAborted);
      const worker = stage.worker(await stage.claim(mine.id));
      const { task: made } = await worker.create({ title: "made" }, neverAborted);
      const file = { filename: "a.txt", storedPath: "/a", size: 1 };
      const before = await exportedLines(stage.store);
      for (const refused of [
        () => worker.link(mine.id, other.id, neverAborted),
        () => worker.link(made.id, other.id, neverAborted),
        () => worker.unlink(other.id, third.id, neverAborted),
        () => worker.attach(other.id, file, neverAborted),
      ])
        expect(await codeOf(refused())).toBe("board-action-denied");
      expect(await exportedLines(stage.store)).toEqual(before);
      expect(await worker.link(other.id, made.id, neverAborted)).toMatchObject({ changed: true });
      expect(await worker.unlink(other.id, made.id, neverAborted)).toBe(true);
      for (const { id } of [mine, made])
        expect(await worker.attach(id, file, neverAborted)).toMatchObject({ size: 1 });
    });

    test("board G40: a completion that names tasks the worker did not create is refused and can be retried", async () => {
      await using stage = await openStage(openLab);
      const [mine, other] = [await stage.add("mine"), await stage.add("other")];
      const worker = stage.worker(await stage.claim(mine.id));
      const { task } = await worker.create({ title: "new" }, neverAborted);
      const summary = "made some";
      for (const id of [other.id, "t_ffffffffffff"])
        expect(
          await codeOf(worker.complete(mine.id, { summary, createdTasks: [task.id, id] }, neverAborted)),
        ).toBe("task-input-invalid");
      expect(await stage.statusOf(mine.id)).toBe("running");
      expect(
        (await worker.complete(mine.id, { summary, createdTasks: [task.id] }, neverAborted)).status,
      ).toBe("done");
    });

    test("an old token is refused after a reclaim, a completion, an archive and a new claim", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const ends = [
        () => stage.operator.release(task.id, "stop", neverAborted),
        () =>
          stage.operator
            .schedule(task.id, 0, undefined, neverAborted)
            .then(() => stage.system.recompute(undefined, neverAborted)),
        () => stage.operator.release(task.id, "", neverAborted).then(() => stage.claim(task.id)),
        () => stage.operator.complete(task.id, {}, neverAborted),
      ];
      for (const end of ends) {
        if ((await stage.statusOf(task.id)) === "running")
          await stage.operator.release(task.id, "", neverAborted);
        const claimed = await stage.claim(task.id);
        await end();
        const worker = stage.worker(claimed);
        const before = await exportedLines(stage.store);
        const codes = await Promise.all(
          [
            worker.renew(undefined, neverAborted),
            worker.renew({ note: "still here" }, neverAborted),
            worker.describeRun({ costMicros: 1 }, neverAborted),
            worker.complete(task.id, { summary: "late" }, neverAborted),
            worker.block(task.id, "late", undefined, neverAborted),
            worker.comment(task.id, "late", neverAborted),
            worker.create({ title: "late" }, neverAborted),
            worker.requestReview(task.id, "bob", {}, neverAborted),
          ].map(codeOf),
        );
        expect(new Set(codes)).toEqual(new Set(["run-superseded"]));
        expect(await exportedLines(stage.store)).toEqual(before);
      }
    });

    test("board G5: a worker may not release its own claim", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const worker = stage.worker(await stage.claim(task.id));
      expect(await codeOf(worker.release(task.id, "tired", neverAborted))).toBe("board-action-denied");
      const ending = { runId: task.current_run_id ?? 0, outcome: "reclaimed" } as const;
      expect(await codeOf(worker.endRun(ending, neverAborted))).toBe("board-action-denied");
      expect(await codeOf(worker.complete(task.id, {}, neverAborted))).toBe("task-input-invalid");
      expect(await stage.statusOf(task.id)).toBe("running");
    });

    test("operations without the right are refused for a delegate, an agent, a worker and the system, and change nothing", async () => {
      await using stage = await openStage(openLab);
      const [task, own] = [await stage.add("a"), await stage.add("own")];
      const claimed = await stage.claim(own.id);
      const delegate = stage.store.as({ kind: "delegate", profile: "worker" });
      const agent = stage.store.as({ kind: "agent", profile: "boss" });
      const worker = stage.worker(claimed);
      const before = await exportedLines(stage.store);
      const codes = await Promise.all(
        [
          delegate.create({ title: "x" }, neverAborted),
          delegate.comment(task.id, "x", neverAborted),
          delegate.complete(task.id, {}, neverAborted),
          delegate.link(task.id, own.id, neverAborted),
          agent.complete(task.id, {}, neverAborted),
          agent.archive(task.id, neverAborted),
          agent.claim({ taskIds: [own.id], from: "ready", leaseMs: 1, hostId: "h" }, neverAborted),
          agent.pause(true, neverAborted),
          worker.archive(own.id, neverAborted),
          worker.hold(own.id, false, neverAborted),
          worker.unblock(task.id, undefined, neverAborted),
          worker.assign(own.id, "x", undefined, neverAborted),
          worker.edit(own.id, { title: "x" }, neverAborted),
          worker.collectGarbage({ eventDays: 0, subscriptionDays: 0 }, neverAborted),
          stage.system.pause(true, neverAborted),
          stage.system.purge(task.id, neverAborted),
        ].map(codeOf),
      );
      expect(new Set(codes)).toEqual(new Set(["board-action-denied"]));
      expect(await exportedLines(stage.store)).toEqual(before);
      expect((await agent.create({ title: "x" }, neverAborted)).task.created_by).toBe("boss");
    });

    test("the tasks that workers create are limited in number and depth; too many in an hour are a finding", async () => {
      await using stage = await openStage(openLab);
      const childLimits = { maxChildren: 3, maxDepth: 2 };
      const workerOf = async (id: string) => {
        return stage.worker(await stage.claim(id, { childLimits }));
      };
      const root = await stage.add("root");
      const worker = await workerOf(root.id);
      const make = (title: string) =>
        worker.create({ title, assignee: "worker", idempotencyKey: title }, neverAborted);
      const { task: child } = await make("a");
      const made = await Promise.all(["b", "c", "d", "e"].map((title) => codeOf(make(title))));
      expect(made.toSorted()).toEqual(["task-limit-reached", "task-limit-reached", undefined, undefined]);
      expect((await make("a")).created).toBe(false); // the key exists already, so no task is created
      const deeper = await workerOf(child.id);
      const { task: grandchild } = await deeper.create({ title: "deep", assignee: "worker" }, neverAborted);
      const deepest = await workerOf(grandchild.id);
      await expect(deepest.create({ title: "too deep" }, neverAborted)).rejects.toThrow(
        /3 generations .*max_depth allows 2/,
      );
      expect((await stage.operator.create({ title: "by a person" }, neverAborted)).created).toBe(true);
      const rules = {
        failureThreshold: 3,
        crashThreshold: 2,
        blockedStaleHours: 24,
        strandedThresholdSeconds: 9_999,
      };
      const storms = async (stormTasksPerHour: number) =>
        (await stage.store.diagnose({ ...rules, stormTasksPerHour }, undefined, neverAborted)).map(
          ({ kind, taskId, count }) => [kind, taskId, count],
        );
      expect(await storms(4)).toEqual([["task_storm", root.id, 4]]);
      expect(await storms(5)).toEqual([]);
    });

    test("a running task cannot be reassigned, and a new assignee starts without failures", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const { run } = await stage.claim(task.id);
      expect(await codeOf(stage.operator.assign(task.id, "bob", undefined, neverAborted))).toBe(
        "task-running",
      );
      await stage.system.endRun({ runId: run.id, outcome: "crashed", failureLimit: 5 }, neverAborted);
      const assigned = await stage.operator.assign(task.id, "Bob", undefined, neverAborted);
      expect(assigned).toMatchObject({ assignee: "bob", consecutive_failures: 0 });
      expect((await stage.operator.assign(task.id, "none", undefined, neverAborted)).assignee).toBeNull();
    });
  });
}
