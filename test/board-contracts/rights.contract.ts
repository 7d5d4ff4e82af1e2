import { describe, expect, test } from "vitest";
import { type BoardLab, codeOf, exported, openStage, runCaller } from "../support/board-lab.ts";

const never = new AbortController().signal;

export function rightsContract(openLab: () => Promise<BoardLab>): void {
  describe("rights", () => {
    test("board G40: a worker changes only its own task, with its own token, and is recorded as its profile", async () => {
      await using stage = await openStage(openLab);
      const [mine, other] = [await stage.add("mine"), await stage.add("other")];
      const claimed = await stage.claim(mine.id);
      const foreign = await stage.claim(other.id);
      const worker = stage.worker(claimed);
      expect(await codeOf(worker.complete(other.id, { summary: "x" }, never))).toBe("board-action-denied");
      expect(await codeOf(worker.block(other.id, "x", undefined, never))).toBe("board-action-denied");
      expect(await codeOf(worker.endRun({ runId: foreign.run.id, outcome: "crashed" }, never))).toBe(
        "board-action-denied",
      );
      const forged = stage.store.as(runCaller(other, foreign.run, claimed.token));
      expect(await codeOf(forged.complete(other.id, { summary: "x" }, never))).toBe("run-superseded");
      expect(await codeOf(forged.comment(mine.id, "x", never))).toBe("run-superseded");
      const comment = await worker.comment(other.id, "hello", never);
      expect(comment.author).toBe("worker");
      const created = await worker.create({ title: "new" }, never);
      expect(created.task).toMatchObject({ created_by: "worker", origin_task_id: mine.id });
    });

    test("a worker links and attaches only to its own task and to tasks it created", async () => {
      await using stage = await openStage(openLab);
      const [mine, other, third] = [
        await stage.add("mine"),
        await stage.add("other"),
        await stage.add("third"),
      ];
      await stage.operator.link(other.id, third.id, never);
      const worker = stage.worker(await stage.claim(mine.id));
      const { task: made } = await worker.create({ title: "made" }, never);
      const file = { filename: "a.txt", storedPath: "/a", size: 1 };
      const before = await exported(stage.store);
      for (const refused of [
        () => worker.link(mine.id, other.id, never),
        () => worker.link(made.id, other.id, never),
        () => worker.unlink(other.id, third.id, never),
        () => worker.attach(other.id, file, never),
      ])
        expect(await codeOf(refused())).toBe("board-action-denied");
      expect(await exported(stage.store)).toEqual(before);
      expect(await worker.link(other.id, made.id, never)).toMatchObject({ changed: true });
      expect(await worker.unlink(other.id, made.id, never)).toBe(true);
      for (const { id } of [mine, made])
        expect(await worker.attach(id, file, never)).toMatchObject({ size: 1 });
    });

    test("board G40: a completion that names tasks the worker did not create is refused and can be retried", async () => {
      await using stage = await openStage(openLab);
      const [mine, other] = [await stage.add("mine"), await stage.add("other")];
      const worker = stage.worker(await stage.claim(mine.id));
      const { task } = await worker.create({ title: "new" }, never);
      const summary = "made some";
      for (const id of [other.id, "t_ffffffffffff"])
        expect(await codeOf(worker.complete(mine.id, { summary, createdTasks: [task.id, id] }, never))).toBe(
          "task-input-invalid",
        );
      expect(await stage.statusOf(mine.id)).toBe("running");
      expect((await worker.complete(mine.id, { summary, createdTasks: [task.id] }, never)).status).toBe(
        "done",
      );
    });

    test("an old token is refused after a reclaim, a completion, an archive and a new claim", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const ends = [
        () => stage.operator.release(task.id, "stop", never),
        () =>
          stage.operator
            .schedule(task.id, 0, undefined, never)
            .then(() => stage.system.recompute(undefined, never)),
        () => stage.operator.release(task.id, "", never).then(() => stage.claim(task.id)),
        () => stage.operator.complete(task.id, {}, never),
      ];
      for (const end of ends) {
        if ((await stage.statusOf(task.id)) === "running") await stage.operator.release(task.id, "", never);
        const claimed = await stage.claim(task.id);
        await end();
        const worker = stage.worker(claimed);
        const before = await exported(stage.store);
        const codes = await Promise.all(
          [
            worker.renew(undefined, never),
            worker.renew({ note: "still here" }, never),
            worker.describeRun({ costMicros: 1 }, never),
            worker.complete(task.id, { summary: "late" }, never),
            worker.block(task.id, "late", undefined, never),
            worker.comment(task.id, "late", never),
            worker.create({ title: "late" }, never),
            worker.requestReview(task.id, "bob", {}, never),
          ].map(codeOf),
        );
        expect(new Set(codes)).toEqual(new Set(["run-superseded"]));
        expect(await exported(stage.store)).toEqual(before);
      }
    });

    test("board G5: a worker may not release its own claim", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const worker = stage.worker(await stage.claim(task.id));
      expect(await codeOf(worker.release(task.id, "tired", never))).toBe("board-action-denied");
      const ending = { runId: task.current_run_id ?? 0, outcome: "reclaimed" } as const;
      expect(await codeOf(worker.endRun(ending, never))).toBe("board-action-denied");
      expect(await codeOf(worker.complete(task.id, {}, never))).toBe("task-input-invalid");
      expect(await stage.statusOf(task.id)).toBe("running");
    });

    test("operations without the right are refused for a delegate, an agent, a worker and the system, and change nothing", async () => {
      await using stage = await openStage(openLab);
      const [task, own] = [await stage.add("a"), await stage.add("own")];
      const claimed = await stage.claim(own.id);
      const delegate = stage.store.as({ kind: "delegate", profile: "worker" });
      const agent = stage.store.as({ kind: "agent", profile: "boss" });
      const worker = stage.worker(claimed);
      const before = await exported(stage.store);
      const codes = await Promise.all(
        [
          delegate.create({ title: "x" }, never),
          delegate.comment(task.id, "x", never),
          delegate.complete(task.id, {}, never),
          delegate.link(task.id, own.id, never),
          agent.complete(task.id, {}, never),
          agent.archive(task.id, never),
          agent.claim({ wanted: [own.id], from: "ready", leaseMs: 1, hostId: "h" }, never),
          agent.pause(true, never),
          worker.archive(own.id, never),
          worker.hold(own.id, false, never),
          worker.unblock(task.id, undefined, never),
          worker.assign(own.id, "x", undefined, never),
          worker.edit(own.id, { title: "x" }, never),
          worker.collectGarbage({ eventDays: 0, subscriptionDays: 0 }, never),
          stage.system.pause(true, never),
          stage.system.purge(task.id, never),
        ].map(codeOf),
      );
      expect(new Set(codes)).toEqual(new Set(["board-action-denied"]));
      expect(await exported(stage.store)).toEqual(before);
      expect((await agent.create({ title: "x" }, never)).task.created_by).toBe("boss");
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
        worker.create({ title, assignee: "worker", idempotencyKey: title }, never);
      const { task: child } = await make("a");
      const made = await Promise.all(["b", "c", "d", "e"].map((title) => codeOf(make(title))));
      expect(made.toSorted()).toEqual(["task-limit-reached", "task-limit-reached", undefined, undefined]);
      expect((await make("a")).created).toBe(false); // the key exists already, so no task is created
      const deeper = await workerOf(child.id);
      const { task: grandchild } = await deeper.create({ title: "deep", assignee: "worker" }, never);
      const deepest = await workerOf(grandchild.id);
      await expect(deepest.create({ title: "too deep" }, never)).rejects.toThrow(
        /3 generations .*max_depth allows 2/,
      );
      expect((await stage.operator.create({ title: "by a person" }, never)).created).toBe(true);
      const rules = {
        failureThreshold: 3,
        crashThreshold: 2,
        blockedStaleHours: 24,
        strandedThresholdSeconds: 9_999,
      };
      const storms = async (stormTasksPerHour: number) =>
        (await stage.store.diagnose({ ...rules, stormTasksPerHour }, undefined, never)).map(
          ({ kind, taskId, count }) => [kind, taskId, count],
        );
      expect(await storms(4)).toEqual([["task_storm", root.id, 4]]);
      expect(await storms(5)).toEqual([]);
    });

    test("a running task cannot be reassigned, and a new assignee starts without failures", async () => {
      await using stage = await openStage(openLab);
      const task = await stage.add("a");
      const { run } = await stage.claim(task.id);
      expect(await codeOf(stage.operator.assign(task.id, "bob", undefined, never))).toBe("task-running");
      await stage.system.endRun({ runId: run.id, outcome: "crashed", failureLimit: 5 }, never);
      const assigned = await stage.operator.assign(task.id, "Bob", undefined, never);
      expect(assigned).toMatchObject({ assignee: "bob", consecutive_failures: 0 });
      expect((await stage.operator.assign(task.id, "none", undefined, never)).assignee).toBeNull();
    });
  });
}
