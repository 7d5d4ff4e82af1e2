import { describe, expect, it } from "vitest";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";
import { type BoardLab, CLAIM, codeOf, exportedLines, openStage } from "../support/board-lab.ts";

export function profileNamesContract(openLab: () => Promise<BoardLab>): void {
  describe("the names of profiles", () => {
    it("board G47: a renamed profile keeps its tasks in every role; past events keep the old name", async () => {
      await using stage = await openStage(openLab);
      const { operator, store } = stage;
      const rename = (from: string, to: string) => operator.renameProfile(from, to, neverAborted);
      const waiting = await stage.add("waiting");
      const other = await stage.add("of another", { assignee: "bob" });
      const done = await stage.add("done");
      await stage.worker(await stage.claim(done.id)).complete(done.id, { summary: "did it" }, neverAborted);
      const archived = await stage.add("archived");
      await operator.archive(archived.id, neverAborted);
      const reviewed = await stage.add("reviewed by another");
      await stage
        .worker(await stage.claim(reviewed.id))
        .requestReview(reviewed.id, "bob", { summary: "look" }, neverAborted);
      const reviewing = await stage.add("reviewed by it", { assignee: "bob" });
      await stage
        .worker(await stage.claim(reviewing.id))
        .requestReview(reviewing.id, "worker", { summary: "look" }, neverAborted);
      const before = await Promise.all([done, reviewed].map(({ id }) => store.show(id, neverAborted)));
      const lastEvent = (await store.stats(neverAborted)).latestEventId;
      await stage.lab.advance(60_000);

      expect(await rename("Worker ", "shop")).toBe(5);

      const rolesOf = async ({ id }: { id: string }) => {
        const { assignee, implementer, reviewer } = (await store.show(id, neverAborted)).task;
        return { assignee, implementer, reviewer };
      };
      const roles = { implementer: null, reviewer: null };
      expect(await rolesOf(waiting)).toEqual({ ...roles, assignee: "shop" });
      expect(await rolesOf(other)).toEqual({ ...roles, assignee: "bob" });
      expect(await rolesOf(archived)).toEqual({ ...roles, assignee: "shop" });
      expect(await rolesOf(done)).toMatchObject({ assignee: "shop", implementer: "shop" });
      expect(await rolesOf(reviewed)).toEqual({ assignee: "bob", implementer: "shop", reviewer: "bob" });
      expect(await rolesOf(reviewing)).toEqual({ assignee: "shop", implementer: "bob", reviewer: "shop" });
      const after = await Promise.all([done, reviewed].map(({ id }) => store.show(id, neverAborted)));
      expect(after.map(({ runs, events }) => ({ runs, events }))).toEqual(
        before.map(({ runs, events }) => ({ runs, events })),
      );
      expect(after.map(({ task }) => task.updated_at)).toEqual(before.map(({ task }) => task.updated_at));
      expect(await store.events(lastEvent, undefined, neverAborted)).toMatchObject([
        {
          task_id: null,
          kind: "profile_renamed",
          actor: "alice",
          payload: { from: "worker", to: "shop", tasks: 5, subscriptions: 0 },
        },
      ]);

      expect([await rename("worker", "shop"), await rename("nobody", "shop")]).toEqual([0, 0]);
      expect(await store.events(lastEvent + 1, undefined, neverAborted)).toEqual([]);
      expect((await stage.claim(waiting.id)).run.profile).toBe("shop");
      expect(await store.check(neverAborted)).toEqual([]);
    });

    it("board G47: subscriptions and the dispatch share of a profile follow its new name", async () => {
      await using stage = await openStage(openLab);
      const { id } = await stage.add("a", { assignee: "bob" });
      const target = { platform: "telegram", chatId: "7", notifierProfile: "worker" };
      await stage.operator.subscribe(id, target, neverAborted);
      for (const [profile, pass] of [
        ["worker", 40],
        ["shop", 3], // a removed profile with the same name
        ["bob", 5],
      ])
        await stage.lab.raw(`insert into dispatch_share values ('${profile}', ${pass})`);
      expect(await stage.operator.renameProfile("worker", "shop", neverAborted)).toBe(0);
      expect(await stage.lab.raw("select notifier_profile from subscription")).toEqual([
        { notifier_profile: "shop" },
      ]);
      const shares = await stage.lab.raw<{ profile: string; pass: unknown }>(
        "select profile, pass from dispatch_share order by profile",
      );
      expect(shares.map(({ profile, pass }) => [profile, Number(pass)])).toEqual([
        ["bob", 5],
        ["shop", 40],
      ]);
      const events = await stage.store.events(0, undefined, neverAborted);
      expect(events.at(-1)).toMatchObject({ kind: "profile_renamed", payload: { subscriptions: 1 } });
    });

    it("board G47: a profile with a running task is not renamed, and nothing changes", async () => {
      await using stage = await openStage(openLab);
      const running = await stage.add("running");
      await stage.add("waiting");
      await stage.claim(running.id);
      const before = await exportedLines(stage.store);
      const rename = stage.operator.renameProfile("worker", "shop", neverAborted);
      await expect(rename).rejects.toMatchObject({
        code: "task-running",
        message: expect.stringContaining(running.id),
      });
      expect(await exportedLines(stage.store)).toEqual(before);
      expect(await codeOf(stage.operator.renameProfile("worker", "none", neverAborted))).toBe(
        "task-input-invalid",
      );
      for (const caller of [
        { kind: "agent", profile: "worker" },
        { kind: "delegate", profile: "worker" },
      ] as const)
        expect(await codeOf(stage.store.as(caller).renameProfile("bob", "shop", neverAborted))).toBe(
          "board-action-denied",
        );
    });

    it("board G47: a concurrent claim and rename are serialised, and no run starts under the old name", async () => {
      await using stage = await openStage(openLab);
      await using elsewhere = await stage.lab.open();
      const claimer = elsewhere.as({ kind: "system", name: "dispatcher" });
      let name = "worker";
      for (let round = 0; round < 12; round++) {
        const { id } = await stage.add(`task ${round}`, { assignee: name });
        const next = `worker-${round}`;
        const [{ claimed }, refused] = await Promise.all([
          claimer.claim({ ...CLAIM, taskIds: [id] }, neverAborted),
          codeOf(stage.operator.renameProfile(name, next, neverAborted)),
        ]);
        if (refused === undefined) name = next;
        else expect(refused).toBe("task-running");
        for (const { run } of claimed) expect(run.profile).toBe(name);
        if (claimed.length > 0) await stage.operator.release(id, "", neverAborted);
        expect((await stage.store.show(id, neverAborted)).task.assignee).toBe(name);
      }
    });

    it("board G47: the work of a profile is its open tasks, highest priority first", async () => {
      await using stage = await openStage(openLab);
      const ids: string[] = [];
      for (let priority = 0; priority < 7; priority++)
        ids.unshift((await stage.add(`task ${priority}`, { priority })).id);
      await stage.add("of another", { assignee: "bob" });
      await stage.operator.complete(ids.pop() ?? "", { result: "done" }, neverAborted);
      await stage.claim(ids[5] ?? "");
      expect(await stage.store.workOf("worker", neverAborted)).toEqual({
        running: [ids[5]],
        open: 6,
        ids: ids.slice(0, 5),
      });
      expect(await stage.store.workOf("nobody", neverAborted)).toEqual({ running: [], open: 0, ids: [] });
    });
  });
}
