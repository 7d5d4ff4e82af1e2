import { expect, it } from "vitest";
import { OUTCOMES } from "../../../src/board/dispatcher/pass-report.ts";
import { INITIAL_TASKS_PER_PROFILE } from "../../../src/board/dispatcher/task-starter.ts";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { idsOf } from "../../board-simulation/ids-of.ts";
import { type BoardLab, codeOf } from "../../support/board-lab.ts";
import { openDispatchStage } from "./dispatch-stage.contract.ts";

const ids = (tasks: readonly { id: string }[]): string[] => tasks.map(({ id }) => id);

/** Which tasks a pass starts, and what it reports about the others. */
export function startingContract(openLab: () => Promise<BoardLab>): void {
  it("B6.1: an unassigned task without a default assignee stays unchanged", async () => {
    await using stage = await openDispatchStage(openLab);
    const task = await stage.add("a", { assignee: null });
    const report = await stage.tick();
    expect(report.skipped_unassigned).toEqual([task.id]);
    expect((await stage.store.show(task.id, neverAborted)).task).toEqual(task);
    expect(stage.host.started).toEqual([]);
  });

  it("a run may create as many tasks as the settings of its dispatcher allow", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    await stage.tick({ max_children_per_task: 1, max_depth: 1 });
    const [claimed] = stage.host.started;
    if (claimed === undefined) throw new Error(`${id} was not started`);
    const worker = stage.worker(claimed);
    const { task: child } = await worker.create({ title: "one", assignee: "worker" }, neverAborted);
    expect(await codeOf(worker.create({ title: "two" }, neverAborted))).toBe("task-limit-reached");
    await stage.tick({ max_children_per_task: 0, max_depth: 1 });
    expect(stage.host.started.at(-1)?.task.id).toBe(child.id);
    const below = stage.worker(stage.host.started.at(-1) ?? claimed);
    await expect(below.create({ title: "three" }, neverAborted)).rejects.toThrow(
      /max_children_per_task allows 0/,
    );
  });

  it("B6.2: the default assignee gets an unassigned task, which starts in the same pass", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { assignee: null });
    const report = await stage.tick({ default_assignee: " Alpha " });
    expect(report.auto_assigned_default).toEqual([id]);
    expect(report.spawned).toEqual([{ task_id: id, assignee: "alpha", workspace: `/work/${id}` }]);
    const { task, events } = await stage.store.show(id, neverAborted);
    expect(task.assignee).toBe("alpha");
    expect(events.find(({ kind }) => kind === "assigned")?.payload).toEqual({
      assignee: "alpha",
      source: "kanban.default_assignee",
    });
  });

  it("B6.2: a task that was assigned after it was listed keeps its assignee", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { assignee: null });
    const runnable = stage.host.runnable.bind(stage.host);
    stage.host.runnable = async (profile) => {
      if (profile === "alpha") await stage.operator.assign(id, "beta", undefined, neverAborted);
      return runnable(profile);
    };
    const report = await stage.tick({ default_assignee: "alpha" });
    expect(report).toMatchObject({ concurrent_claimed: [id], auto_assigned_default: [], spawned: [] });
    expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
      assignee: "beta",
      status: "ready",
    });
  });

  /** More tasks than a pass reads first: paused tasks of alpha, followed by one ready task of alpha and one of beta. */
  const openCrowd = async () => {
    const stage = await openDispatchStage(openLab);
    const { id } = await stage.add("first", { assignee: "alpha", priority: 9 });
    const copies = Array.from({ length: 3 * INITIAL_TASKS_PER_PROFILE }, (_, n) => `select ${n} as n`).join(
      " union all ",
    );
    await stage.lab.raw(`insert into task (id, title, assignee, status, priority, not_before, created_by, created_at, updated_at)
      select 't_crowd' || n, 'n', 'alpha', 'ready', 5, ${stage.lab.now() + 60_000}, 'test', 0, 0 from (${copies}) as crowd`);
    const later = [
      await stage.add("later", { assignee: "alpha" }),
      await stage.add("b", { assignee: "beta" }),
    ];
    return { stage, first: id, later: ids(later) };
  };

  it("a pass without room reads the first tasks of each profile and reports that there are more", async () => {
    const { stage, first } = await openCrowd();
    await using _ = stage;
    const report = await stage.tick({}, { maxStarts: 0 });
    expect(report.has_more).toBe(true);
    expect(report.deferred_capacity).toContain(first);
    expect(report.respawn_guarded).toHaveLength(INITIAL_TASKS_PER_PROFILE - 1);
  });

  it("a pass with room keeps reading until it has found the tasks that can start", async () => {
    const { stage, first, later } = await openCrowd();
    await using _ = stage;
    const report = await stage.tick();
    expect(report.spawned.map(({ task_id }) => task_id).sort()).toEqual([first, ...later].sort());
    expect(report.respawn_guarded).toHaveLength(3 * INITIAL_TASKS_PER_PROFILE);
    expect((await stage.tick({}, { maxStarts: 1 })).spawned).toEqual([]);
  });

  it("B6.3: a blank or unknown default assignee is ignored", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { assignee: null });
    expect((await stage.tick({ default_assignee: "   " })).skipped_unassigned).toEqual([id]);
    expect(await stage.tick({ default_assignee: "nobody-here" })).toMatchObject({
      skipped_unassigned: [id],
      nonspawnable_reasons: { "nobody-here": expect.any(String) },
    });
    expect((await stage.store.show(id, neverAborted)).task.assignee).toBeNull();
  });

  it("B6.4: a default assignee does not change a task that has an assignee", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { assignee: "beta" });
    const report = await stage.tick({ default_assignee: "alpha" });
    expect(report).toMatchObject({ spawned: [{ task_id: id, assignee: "beta" }], auto_assigned_default: [] });
  });

  it("B6.5, B6.38: a dry run reports promotions and caps like a pass, and leaves every table unchanged", async () => {
    await using stage = await openDispatchStage(openLab);
    const first = await stage.add("a", { assignee: null });
    const promoted = await stage.add("child", { parents: [(await stage.add("p")).id], assignee: "alpha" });
    await stage.lab.raw("update task set status = 'done' where title = 'p'");
    const late = await stage.add("late");
    const before = await stage.dump();
    const report = await stage.tick({ default_assignee: "alpha", max_spawn: 2 }, { dryRun: true });
    expect(await stage.dump()).toBe(before);
    expect(report.spawned.map(({ workspace }) => workspace)).toEqual(["", ""]);
    expect([...idsOf(report, "spawned"), ...report.deferred_capacity].sort()).toEqual(
      ids([first, promoted, late]).sort(),
    );
    expect(report).toMatchObject({ promoted: 1, auto_assigned_default: [first.id], dry_run: true });
    expect(stage.host.started).toEqual([]);
  });

  it("B6.38: a dry run writes no event about a guard or a missing profile", async () => {
    await using stage = await openDispatchStage(openLab);
    await stage.add("a", { assignee: "stranger" });
    const before = await stage.dump();
    expect((await stage.tick({}, { dryRun: true })).skipped_nonspawnable).toHaveLength(1);
    expect(await stage.dump()).toBe(before);
  });

  it("B6.6: with a cap of two per profile, two tasks of each start and the others are reported, even in a dry run", async () => {
    await using stage = await openDispatchStage(openLab);
    for (const assignee of [...Array(5).fill("alpha"), ...Array(3).fill("beta")])
      await stage.add("t", { assignee });
    for (const dryRun of [true, false]) {
      const report = await stage.tick({ max_in_progress_per_profile: 2 }, { dryRun });
      const by = (entries: readonly { assignee: string }[], name: string) =>
        entries.filter(({ assignee }) => assignee === name).length;
      expect([by(report.spawned, "alpha"), by(report.spawned, "beta")]).toEqual([2, 2]);
      const capped = report.skipped_per_profile_capped;
      expect([by(capped, "alpha"), by(capped, "beta")]).toEqual([3, 1]);
    }
  });

  it("B6.7, B6.8: a running task counts against the cap of its profile, and a freed slot is used", async () => {
    await using stage = await openDispatchStage(openLab);
    const running = await stage.claim((await stage.add("r", { assignee: "alpha" })).id);
    for (const assignee of ["alpha", "alpha", "beta", "beta"]) await stage.add("t", { assignee });
    const cap = { max_in_progress_per_profile: 1 };
    const report = await stage.tick(cap);
    expect(report.spawned.map(({ assignee }) => assignee)).toEqual(["beta"]);
    const capped = report.skipped_per_profile_capped.map(({ assignee, current }) => `${assignee} ${current}`);
    expect(capped.sort()).toEqual(["alpha 1", "alpha 1", "beta 1"]);
    await stage.worker(running).complete(running.task.id, { summary: "done" }, neverAborted);
    expect((await stage.tick(cap)).spawned.map(({ assignee }) => assignee)).toEqual(["alpha"]);
  });

  it("B6.7: caps can be a map from profile to number", async () => {
    await using stage = await openDispatchStage(openLab);
    for (const assignee of ["alpha", "alpha", "beta", "beta"]) await stage.add("t", { assignee });
    const report = await stage.tick({ max_in_progress_per_profile: { alpha: 1 } });
    expect(report.spawned.map(({ assignee }) => assignee).sort()).toEqual(["alpha", "beta", "beta"]);
    expect(report.skipped_per_profile_capped).toHaveLength(1);
  });

  it("B6.9: a task of a missing profile stays ready, without a failure and with one event", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { assignee: "stranger" });
    for (let pass = 0; pass < 3; pass++) {
      const report = await stage.tick();
      expect(report.skipped_nonspawnable).toEqual([id]);
      expect(report.nonspawnable_reasons["stranger"]).toContain("no profile");
    }
    const { task } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "ready", consecutive_failures: 0 });
    expect((await stage.kinds(id)).filter((kind) => kind === "skipped_nonspawnable")).toHaveLength(1);
  });

  it("B6.10: bookkeeping is done even when no task may start, and each waiting task is reported", async () => {
    await using stage = await openDispatchStage(openLab);
    await stage.claim((await stage.add("running")).id);
    const parent = await stage.add("p");
    const child = await stage.add("child", { parents: [parent.id] });
    await stage.lab.raw(`update task set status = 'done' where id = '${parent.id}'`);
    const report = await stage.tick({ max_spawn: 1 });
    expect(report).toMatchObject({ promoted: 1, spawned: [], deferred_capacity: [child.id] });
  });

  it("B6.11: with max_spawn 3, max_in_progress 4 and 2 running exactly 1 starts", async () => {
    await using stage = await openDispatchStage(openLab);
    for (let n = 0; n < 2; n++) await stage.claim((await stage.add("r")).id);
    for (let n = 0; n < 3; n++) await stage.add("t");
    const report = await stage.tick({ max_spawn: 3, max_in_progress: 4 });
    expect(report.spawned).toHaveLength(1);
    expect(report.deferred_capacity).toHaveLength(2);
  });

  it("B6.11: running tasks of other boards are subtracted from the host's cap only", async () => {
    await using stage = await openDispatchStage(openLab);
    for (let n = 0; n < 5; n++) await stage.add("t");
    stage.host.elsewhere = 3;
    expect((await stage.tick({ max_spawn: 4, max_in_progress: 5 })).spawned).toHaveLength(2);
  });

  it("B6.12: two dispatchers that compete for the same tasks start each task once", async () => {
    await using stage = await openDispatchStage(openLab);
    const tasks = [];
    for (let n = 0; n < 6; n++) tasks.push(await stage.add("t"));
    const other = stage.createHost("host-2");
    const reports = await Promise.all([stage.tick(), stage.tick({}, { host: other, owner: "dispatcher-2" })]);
    const started = reports.flatMap((report) => idsOf(report, "spawned"));
    expect(started.sort()).toEqual(ids(tasks).sort());
    for (const { id } of tasks) {
      expect(await stage.runs(id)).toHaveLength(1);
      expect((await stage.store.show(id, neverAborted)).task.consecutive_failures).toBe(0);
    }
  });

  it("B6.12: a task that another dispatcher has claimed since it was listed is reported as such", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("t");
    const pressure = stage.host.memoryPressure.bind(stage.host);
    stage.host.memoryPressure = async () => {
      await stage.claim(id, { hostId: "host-2" });
      return pressure();
    };
    const report = await stage.tick();
    expect(report).toMatchObject({ concurrent_claimed: [id], spawned: [] });
    expect(await stage.runs(id)).toHaveLength(1);
  });

  it("a slot of the host is released if its task is not started, whatever the reason", async () => {
    await using stage = await openDispatchStage(openLab);
    const { host } = stage;
    const [taken, failing, lost] = [
      await stage.add("taken"),
      await stage.add("failing"),
      await stage.add("lost"),
    ];
    const reserve = host.reserveSlot.bind(host);
    host.reserveSlot = async () => {
      if ((await stage.runs(taken.id)).length === 0) await stage.claim(taken.id, { hostId: "host-2" });
      return reserve();
    };
    const start = host.onStart;
    host.onStart = async (claimed) => {
      if (claimed.task.id === failing.id) return { kind: "failed", cause: "spawn", error: "no room" };
      if (claimed.task.id === lost.id) throw new Error("the start was lost");
      return start(claimed);
    };
    const report = await stage.tick();
    expect(report).toMatchObject({ concurrent_claimed: [taken.id], spawned: [] });
    expect(await stage.runs(failing.id)).toHaveLength(1);
    expect(await stage.runs(lost.id)).toHaveLength(1);
    expect(host.slotsInHand).toBe(0);
    await stage.add("fine");
    await stage.tick();
    expect(host.slotsInHand).toBe(0);
  });

  it("B6.34, B6.37, G23: a quota or credential failure defers the next attempt by its type, not by its message", async () => {
    await using stage = await openDispatchStage(openLab);
    const typed = await stage.add("typed");
    const prose = await stage.add("prose");
    for (const { id } of [typed, prose]) {
      const { run } = await stage.claim(id);
      const detail = id === typed.id ? { failure_kind: "auth" } : {};
      const error = "the author says: unauthorized quota";
      await stage.system.endRun(
        { runId: run.id, outcome: "crashed", error, detail, failureLimit: 9 },
        neverAborted,
      );
    }
    const report = await stage.tick({ failure_limit: 9 });
    expect(report.respawn_guarded).toMatchObject([{ task_id: typed.id, reason: "blocker_auth" }]);
    expect(idsOf(report, "spawned")).toEqual([prose.id]);
    await stage.tick({ failure_limit: 9 });
    expect((await stage.kinds(typed.id)).filter((kind) => kind === "respawn_guarded")).toHaveLength(1);
    await stage.lab.advance(600_001);
    expect(idsOf(await stage.tick({ failure_limit: 9 }), "spawned")).toContain(typed.id);
  });

  it("B6.27, B6.37, G22, G23: after a rate limit all tasks of the profile wait, and an operator can lift the guard of one task", async () => {
    await using stage = await openDispatchStage(openLab);
    const [a, b] = [await stage.add("a"), await stage.add("b")];
    const { run } = await stage.claim(a.id);
    await stage.system.endRun(
      { runId: run.id, outcome: "rate_limited", retryAfterMs: 300_000 },
      neverAborted,
    );
    const report = await stage.tick();
    expect(report.respawn_guarded.map(({ task_id, reason }) => [task_id, reason])).toEqual([
      [a.id, "rate_limit_cooldown"],
      [b.id, "rate_limit_cooldown"],
    ]);
    expect(report.next_due_at).toBe(stage.lab.now() + 300_000);
    const { liftGuards } = await import("../../../src/board/dispatcher/transactions/record-notices.ts");
    await stage.lab.advance(1_000);
    const operator = { kind: "operator", name: "alice" } as const;
    await stage.board.write(operator, (transaction) => liftGuards(transaction, a.id), neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([a.id]);
    await stage.lab.advance(300_000);
    expect(idsOf(await stage.tick(), "spawned")).toContain(b.id);
  });

  it("B6.35: a task that was just completed and not reopened does not start again", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const claimed = await stage.claim(id);
    await stage.worker(claimed).complete(id, { summary: "done" }, neverAborted);
    await stage.lab.raw(`update task set status = 'ready' where id = '${id}'`);
    expect((await stage.tick()).respawn_guarded).toMatchObject([{ task_id: id, reason: "recent_success" }]);
    await stage.lab.advance(3_600_001);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("B6.35: a task that a person reopened starts at once", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const claimed = await stage.claim(id);
    await stage.worker(claimed).complete(id, { summary: "done" }, neverAborted);
    await stage.lab.advance(1_000);
    await stage.operator.reopen(id, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("B6.36: a pull request in the metadata of a run guards its task until the task is handed back", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const claimed = await stage.claim(id);
    const handoff = { summary: "see", metadata: { pull_request: "https://github.com/o/r/pull/1" } };
    await stage.worker(claimed).requestReview(id, "alpha", handoff, neverAborted);
    await stage.lab.raw(`update task set status = 'ready' where id = '${id}'`);
    expect((await stage.tick()).respawn_guarded).toMatchObject([{ task_id: id, reason: "active_pr" }]);
    await stage.lab.raw(`update task set status = 'review' where id = '${id}'`);
    await stage.lab.advance(1_000);
    await stage.operator.reopenReview(id, "again", neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("starts nothing on a paused board, and no task that is held", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    await stage.operator.pause(true, neverAborted);
    expect(await stage.tick()).toMatchObject({ paused: true, spawned: [] });
    await stage.operator.pause(false, neverAborted);
    await stage.operator.hold(id, true, neverAborted);
    const held = await stage.tick();
    expect(OUTCOMES.flatMap((outcome) => idsOf(held, outcome))).toEqual([]);
    await stage.operator.hold(id, false, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("starts at most one task under elevated and none under critical memory pressure", async () => {
    await using stage = await openDispatchStage(openLab);
    for (let n = 0; n < 3; n++) await stage.add("t");
    stage.host.pressure = "critical";
    expect(await stage.tick()).toMatchObject({ spawned: [], memory_pressure: "critical" });
    stage.host.pressure = "elevated";
    expect((await stage.tick()).spawned).toHaveLength(1);
  });

  it("shares one slot fairly between profiles, so that a hundred tasks of one profile do not starve another", async () => {
    await using stage = await openDispatchStage(openLab);
    for (let n = 0; n < 20; n++) await stage.add(`a${n}`, { assignee: "alpha" });
    for (let n = 0; n < 3; n++) await stage.add(`b${n}`, { assignee: "beta" });
    const turns: string[] = [];
    for (let pass = 0; pass < 8; pass++) {
      const report = await stage.tick({ max_spawn: 1 });
      turns.push(...report.spawned.map(({ assignee }) => assignee));
      const claimed = stage.host.started.at(-1);
      if (claimed === undefined) continue;
      await stage.worker(claimed).complete(claimed.task.id, { summary: "ok" }, neverAborted);
      stage.host.liveness.set(claimed.run.id, "dead");
    }
    expect(turns.filter((name) => name === "beta")).toHaveLength(3);
    expect(turns).toHaveLength(8);
  });

  it("claims only for the profiles in kanban.dispatch_profiles", async () => {
    await using stage = await openDispatchStage(openLab);
    await stage.add("a", { assignee: "alpha" });
    await stage.add("b", { assignee: "beta" });
    const report = await stage.tick({ dispatch_profiles: ["beta"] });
    expect(report.spawned.map(({ assignee }) => assignee)).toEqual(["beta"]);
    expect(report.skipped_nonspawnable).toHaveLength(1);
    expect((await stage.tick({ dispatch_profiles: [] })).spawned).toEqual([]);
  });
}
