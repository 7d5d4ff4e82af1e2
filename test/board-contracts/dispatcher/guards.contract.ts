import { expect, it } from "vitest";
import { explainTask } from "../../../src/board/dispatcher/reasons/explain-task.ts";
import { findStuckTasks } from "../../../src/board/dispatcher/reasons/find-stuck-tasks.ts";
import { IdlePasses } from "../../../src/board/dispatcher/reasons/idle-passes.ts";
import { reclaimTask } from "../../../src/board/dispatcher/reclaim-task.ts";
import { runEndingOf, type WorkerExit } from "../../../src/board/dispatcher/rules/run-ending.ts";
import { liftGuards } from "../../../src/board/dispatcher/transactions/record-notices.ts";
import type { ClaimedTask } from "../../../src/board/operations/runs/claim.ts";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { idsOf } from "../../board-simulation/ids-of.ts";
import { type BoardLab, codeOf } from "../../support/board-lab.ts";
import { openDispatchStage } from "./dispatch-stage.contract.ts";

const HOUR_MS = 3_600_000;
const OPERATOR = { kind: "operator", name: "alice" } as const;

/** What keeps tasks from starting: each task has one typed outcome that `why` names, and other tasks proceed. */
export function guardsContract(openLab: () => Promise<BoardLab>): void {
  async function openHindered(settings = {}) {
    const stage = await openDispatchStage(openLab, settings);
    return {
      ...stage,
      why: (id: string) => explainTask(stage.parts, id, neverAborted),
      hindered: async () =>
        (await findStuckTasks(stage.parts, neverAborted)).map(({ task_id, reason }) => [task_id, reason]),
      end: (exit: WorkerExit, { run, task }: ClaimedTask, history = {}) =>
        stage.system.endRun(
          runEndingOf(
            exit,
            { runId: run.id, failures: task.consecutive_failures, ...history },
            stage.parts.policy,
            () => 0.5,
          ),
          neverAborted,
        ),
    };
  }
  type Stage = Awaited<ReturnType<typeof openHindered>>;

  /** The operations by which a person takes a running task from its worker, on this or another host, and frees it again. */
  const TAKEN: Readonly<Record<string, (stage: Stage, id: string) => Promise<unknown>>> = {
    released: ({ operator }, id) => operator.release(id, "", neverAborted),
    "blocked and unblocked": async ({ operator }, id) => {
      await operator.block(id, "wait", undefined, neverAborted);
      await operator.unblock(id, undefined, neverAborted);
    },
    "blocked and promoted": async ({ operator }, id) => {
      await operator.block(id, "wait", undefined, neverAborted);
      await operator.promote(id, undefined, neverAborted);
    },
    "blocked by a dependency that does not exist": async ({ operator }, id) => {
      await operator.block(id, "wait", "dependency", neverAborted);
    },
    "scheduled for now": ({ operator, lab }, id) => operator.schedule(id, lab.now(), undefined, neverAborted),
    "released and given to another profile": async ({ operator }, id) => {
      await operator.release(id, "", neverAborted);
      await operator.assign(id, "beta", undefined, neverAborted);
    },
    "released and unguarded by an operator": async ({ operator, board }, id) => {
      await operator.release(id, "", neverAborted);
      await board.write(OPERATOR, (transaction) => liftGuards(transaction, id), neverAborted);
    },
    "completed and reopened": async ({ operator, lab }, id) => {
      await operator.complete(id, { summary: "done" }, neverAborted);
      await lab.advance(1_000);
      await operator.reopen(id, neverAborted);
    },
    "reclaimed from afar and given to another profile": async ({ operator, parts }, id) => {
      await reclaimTask({ ...parts, caller: OPERATOR }, { taskId: id, reason: "" }, neverAborted);
      await operator.assign(id, "beta", undefined, neverAborted);
    },
  };

  it.each(Object.keys(TAKEN))(
    "board G5, board H1: a task that was %s cannot be claimed while its worker may be alive",
    async (operation) => {
      await using stage = await openHindered();
      const { id } = await stage.add("a");
      const { run } = await stage.claim(id, { hostId: "host-2", supervisorPid: 7 });
      await stage.lab.advance(10_000);
      await TAKEN[operation]?.(stage, id);
      const freeAt = run.lease_until + 5_000;
      const report = await stage.tick();
      expect(report.respawn_guarded).toEqual([{ task_id: id, reason: "worker_leaving", until: freeAt }]);
      expect(report.next_due_at).toBe(freeAt);
      expect(await stage.why(id)).toMatchObject({ reason: "worker_leaving", until: freeAt, release: "" });
      const claim = { from: "ready", leaseMs: 1_000, hostId: "host-1", taskIds: [id] } as const;
      expect((await stage.system.claim(claim, neverAborted)).refused).toMatchObject([{ reason: "waiting" }]);
      await stage.lab.advance(freeAt - 1 - stage.lab.now());
      expect((await stage.tick()).spawned).toEqual([]);
      await stage.lab.advance(1);
      expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
    },
  );

  it("board G5: a worker that ended its own run may still be alive, and its task waits until it has exited", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    await stage.tick();
    const claimed = stage.host.started[0] as ClaimedTask;
    await stage.worker(claimed).block(id, "which colour?", undefined, neverAborted);
    await stage.operator.unblock(id, "red", neverAborted);
    const other = { host: stage.createHost("host-2"), owner: "dispatcher-2" };
    for (const parts of [{}, other])
      expect((await stage.tick({}, parts)).respawn_guarded).toMatchObject([
        { task_id: id, reason: "worker_leaving" },
      ]);
    stage.host.liveness.set(claimed.run.id, "dead");
    other.host.liveness.set(claimed.run.id, "dead"); // only the worker's own host can observe this
    expect((await stage.tick({}, other)).spawned).toEqual([]);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]); // the worker's own host can
  });

  it("board G5: the observed end of a worker does not shorten another pause of its task", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    const { run } = await stage.claim(id, { supervisorPid: 7 });
    await stage.operator.release(id, "", neverAborted);
    await stage.lab.raw(`update task set not_before = ${run.lease_until + 60_000} where id = '${id}'`);
    stage.host.liveness.set(run.id, "dead");
    expect((await stage.tick()).respawn_guarded).toMatchObject([{ task_id: id, reason: "backoff" }]);
  });

  it("board G5: a person's claim has no worker, and its task is free at once when the claim is released", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    for (const hostId of ["host-1", "host-2"]) {
      await stage.claim(id, { hostId, leaseMs: 900_000 });
      await stage.operator.release(id, "", neverAborted);
    }
    await stage.claim(id, { hostId: "host-2", leaseMs: 900_000 });
    await reclaimTask({ ...stage.parts, caller: OPERATOR }, { taskId: id, reason: "" }, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("board G5: a run whose end was observed frees its task at once", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    await stage.tick();
    await reclaimTask({ ...stage.parts, caller: OPERATOR }, { taskId: id, reason: "" }, neverAborted);
    expect(stage.host.terminated).toHaveLength(1);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("a reclaim is written before any process is killed, so that a report of the supervisor comes too late", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    await stage.tick();
    const claimed = stage.host.started[0] as ClaimedTask;
    const reports: (string | undefined)[] = [];
    const host = Object.assign(stage.createHost("host-1"), {
      async terminate() {
        const ending = { runId: claimed.run.id, outcome: "infra_killed", retryAfterMs: 60_000 } as const;
        reports.push(await codeOf(stage.system.endRun(ending, neverAborted)));
        return "gone" as const;
      },
    });
    const order = { taskId: id, reason: "wrong branch", assignee: "beta" };
    expect(await reclaimTask({ ...stage.parts, host, caller: OPERATOR }, order, neverAborted)).toMatchObject({
      run: "ended",
      task: { status: "ready", assignee: "beta" },
    });
    expect(reports).toEqual(["run-superseded"]);
    const { task, runs, events } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "ready", assignee: "beta", not_before: null });
    expect(runs).toMatchObject([{ outcome: "reclaimed", error: "wrong branch", ended_by: "operator" }]);
    expect(events.map(({ kind }) => kind).slice(-3)).toEqual(["reclaimed", "assigned", "worker_ended"]);
    expect(events.at(-3)).toMatchObject({ actor: "alice", payload: { reason: "wrong branch" } });
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
    expect(await stage.store.check(neverAborted)).toEqual([]);
  });

  it("a run that a person has ended counts against the caps until its processes have exited", async () => {
    await using stage = await openHindered({ max_spawn: 1 });
    const { id } = await stage.add("a");
    await stage.tick();
    const { run } = stage.host.started[0] as ClaimedTask;
    const other = await stage.add("b");
    await stage.operator.complete(id, { summary: "by hand" }, neverAborted);
    expect(await stage.tick()).toMatchObject({ spawned: [], deferred_capacity: [other.id] });
    expect(await stage.store.check(neverAborted)).toEqual([]);
    stage.host.liveness.set(run.id, "dead");
    expect(idsOf(await stage.tick(), "spawned")).toEqual([other.id]);
    expect(await stage.store.check(neverAborted)).toEqual([]);
  });

  it("a run that a person has ended on an unreachable host counts until its lease has expired", async () => {
    await using stage = await openHindered({ max_spawn: 1 });
    const { id } = await stage.add("a");
    const { run } = await stage.claim(id, { hostId: "host-2", supervisorPid: 7 });
    const other = await stage.add("b");
    await stage.operator.archive(id, neverAborted);
    const report = await stage.tick();
    expect(report).toMatchObject({ deferred_capacity: [other.id], next_due_at: run.lease_until + 5_000 });
    expect(await codeOf(stage.operator.purge(id, neverAborted))).toBe("task-running");
    await stage.lab.advance(35_000);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([other.id]);
    await stage.operator.purge(id, neverAborted);
    expect(await stage.store.check(neverAborted)).toEqual([]);
  });

  it("a run that a person has ended reserves its folder against child tasks and other tasks that name the folder", async () => {
    await using stage = await openHindered();
    const folder = { workspaceKind: "dir", workspacePath: "/work/shared" } as const;
    const { id } = await stage.add("a", folder);
    await stage.tick();
    const { run } = stage.host.started[0] as ClaimedTask;
    const child = await stage.add("child", { parents: [id] });
    const same = await stage.add("same folder", folder);
    const apart = await stage.add("apart", { ...folder, workspacePath: "/work/other" });
    await stage.operator.complete(id, { summary: "by hand" }, neverAborted);
    const report = await stage.tick();
    expect(idsOf(report, "spawned")).toEqual([apart.id]);
    const until = run.lease_until + 5_000;
    expect(report.respawn_guarded).toEqual(
      [child, same].map(({ id: task_id }) => ({ task_id, reason: "worker_leaving", until })),
    );
    stage.host.liveness.set(run.id, "dead");
    expect(idsOf(await stage.tick(), "spawned").toSorted()).toEqual([child.id, same.id].toSorted());
  });

  it("B6.27: a task that reaches a rate limit for six hours is blocked, and why and diagnostics report it", async () => {
    await using stage = await openHindered({ rate_limit_cooldown_seconds: 7_200 });
    const { id } = await stage.add("a");
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
      await stage.end({ outcome: "rate_limited" }, stage.host.started.at(-1) as ClaimedTask);
      expect(await stage.why(id)).toMatchObject({ reason: "rate_limit_cooldown" });
      await stage.lab.advance(2 * HOUR_MS);
    }
    const other = await stage.add("b", { assignee: "beta" });
    const report = await stage.tick();
    expect(report).toMatchObject({ rate_limited: [id], auto_blocked: [id] });
    expect(idsOf(report, "spawned")).toEqual([other.id]);
    expect(await stage.why(id)).toMatchObject({ reason: "rate-limit-bound" });
    expect(await stage.hindered()).toEqual([[id, "rate-limit-bound"]]);
    await stage.operator.unblock(id, undefined, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]); // earlier rate limits do not block it again
  });

  it("B6.28: a task with a permanent failure is given up at once, whatever number of attempts it allows", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a", { maxRetries: 9 });
    await stage.tick();
    const exit = { outcome: "crashed", terminal: true, failureKind: "auth", error: "no such key" } as const;
    await stage.end(exit, stage.host.started[0] as ClaimedTask);
    const { task, events } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "blocked", block_sticky: true, consecutive_failures: 1 });
    expect(events.at(-1)).toMatchObject({
      kind: "gave_up",
      payload: { limit_source: "outcome", sticky: true },
    });
    const why = await stage.why(id);
    expect(why).toMatchObject({ reason: "provider", text: expect.stringContaining("no such key") });
    expect(why.release).toContain("settings of its profile");
    expect(await stage.hindered()).toEqual([[id, "provider"]]);
    await stage.lab.advance(100 * HOUR_MS);
    expect((await stage.tick()).spawned).toEqual([]);
  });

  const WALLS = {
    blocker_auth: { outcome: "crashed", terminal: true, failureKind: "auth" },
    rate_limit_cooldown: { outcome: "rate_limited", failureKind: "quota" },
  } as const;
  it.each(["blocker_auth", "rate_limit_cooldown"] as const)(
    "B6.34: %s on the model override of one task guards the tasks with the same override, and no other task of the profile",
    async (reason) => {
      await using stage = await openHindered();
      const first = await stage.add("a", { modelOverride: "typo", priority: 9 });
      const [same, own] = [await stage.add("b", { modelOverride: "typo" }), await stage.add("c")];
      expect(idsOf(await stage.tick({}, { maxStarts: 1 }), "spawned")).toEqual([first.id]);
      await stage.end(WALLS[reason], stage.host.started[0] as ClaimedTask);
      const report = await stage.tick();
      expect(report.respawn_guarded.find(({ task_id: id }) => id === same.id)).toMatchObject({
        reason,
        met_by: 1,
      });
      expect(idsOf(report, "spawned")).toEqual([own.id]);
      const why = await stage.why(same.id);
      expect(why.text).toMatch(/It waits until .*model.*as #1 found out/);
      const details = await stage.store.listDetails([same], neverAborted);
      expect(details.guarded.get(same.id)).toEqual({ reason, until: why.until, waitsForTask: 0 });
      // With another model, the guarded task starts.
      await stage.operator.edit(same.id, { modelOverride: "right" }, neverAborted);
      expect(idsOf(await stage.tick(), "spawned")).toEqual([same.id]);
      expect((await stage.store.listDetails([same], neverAborted)).guarded.size).toBe(0);
    },
  );

  it("a task that another dispatcher of this host has just started is not reported as waiting for its branch", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { workspaceKind: "worktree", branchName: "feature" });
    stage.host.findBranchUser = async () => {
      await stage.claim(id, { hostId: stage.host.id });
      return undefined;
    };
    const report = await stage.tick();
    expect(report.respawn_guarded).toEqual([]);
    expect(report.concurrent_claimed).toEqual([id]);
    expect(await stage.kinds(id)).toEqual(["created", "claimed"]);
  });

  it("a task whose branch is in use waits without a failure, and why and list report it", async () => {
    await using stage = await openHindered();
    const worktree = {
      workspaceKind: "worktree",
      workspacePath: "/work/repo",
      branchName: "feature",
    } as const;
    const [first, second] = [await stage.add("first", worktree), await stage.add("second", worktree)];
    const apart = await stage.add("third", { ...worktree, branchName: "other" });
    const report = await stage.tick(); // the first task is running, but its checkout does not exist yet
    expect(idsOf(report, "spawned").toSorted()).toEqual([first.id, apart.id].toSorted());
    const waiting = {
      task_id: second.id,
      reason: "branch_busy",
      until: report.looked_at + 30_000,
      met_by: 1,
    };
    expect(report).toMatchObject({ respawn_guarded: [waiting], next_due_at: expect.any(Number) });
    const guarded = { reason: "branch_busy", until: null, waitsForTask: 1 };
    expect((await stage.store.listDetails([second], neverAborted)).guarded.get(second.id)).toEqual(guarded);
    const path = "/work/repo/.worktrees/first";
    stage.host.branchUsers.set(second.id, { branch: "feature", path, taskId: first.id });
    await stage.end({ outcome: "crashed" }, stage.host.started[0] as ClaimedTask);
    expect(await stage.why(second.id)).toMatchObject({
      reason: "branch_busy",
      text: `It waits for its branch feature, which #1 first (ready) uses in ${path}.`,
      release: "Complete that task first: hermes kanban why 1",
    });
    await stage.operator.complete(first.id, { summary: "done" }, neverAborted);
    expect((await stage.why(second.id)).release).toBe(
      "Commit or remove the files in that folder, then: hermes kanban gc",
    );
    stage.host.branchUsers.set(second.id, { branch: "feature", path: "/mine", taskId: undefined });
    expect((await stage.why(second.id)).text).toContain("which is checked out in /mine.");
    expect(idsOf(await stage.tick(), "spawned")).toEqual([]);
    stage.host.branchUsers.clear();
    expect(idsOf(await stage.tick(), "spawned")).toEqual([second.id]);
    const { task, runs, events } = await stage.store.show(second.id, neverAborted);
    expect([task.consecutive_failures, runs.length]).toEqual([0, 1]);
    expect(events.filter(({ kind }) => kind === "respawn_guarded")).toHaveLength(2); // not one event per pass
  });

  it("B6.34, board G22, board H11: one refused key guards the other tasks that use it until it is corrected", async () => {
    await using stage = await openHindered();
    const [first, second] = [await stage.add("a"), await stage.add("b")];
    const other = await stage.add("c", { assignee: "beta" });
    expect(idsOf(await stage.tick({}, { maxStarts: 1 }), "spawned")).toEqual([first.id]);
    await stage.end(
      { outcome: "crashed", terminal: true, failureKind: "auth" },
      stage.host.started[0] as ClaimedTask,
    );
    const report = await stage.tick();
    expect(report.respawn_guarded).toMatchObject([{ task_id: second.id, reason: "blocker_auth" }]);
    expect(idsOf(report, "spawned")).toEqual([other.id]);
    const why = await stage.why(second.id);
    expect(why).toMatchObject({ reason: "blocker_auth" });
    expect(why.release).toMatch(/hermes kanban retry 1; or try at once: hermes kanban unguard 2$/);
    await stage.operator.unblock(first.id, "the key is right now", neverAborted);
    expect(idsOf(await stage.tick(), "spawned").toSorted()).toEqual([first.id, second.id].toSorted());
  });

  it("B6.29: a task's own number of attempts applies to workers that end without a result", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a", { maxRetries: 1 });
    await stage.tick();
    await stage.end({ outcome: "protocol_violation" }, stage.host.started[0] as ClaimedTask);
    expect(await stage.statusOf(id)).toBe("blocked");
    expect(await stage.why(id)).toMatchObject({ reason: "failed" });
  });

  it("B4.13, G16: six passes that start nothing although tasks are ready are reported, and again after a while", async () => {
    await using stage = await openHindered({ dispatch_interval_seconds: 60 });
    await stage.add("a", { assignee: "stranger" });
    const idle = new IdlePasses();
    const warnings: number[] = [];
    const since = stage.lab.now();
    for (let pass = 1; pass <= 12; pass++) {
      await stage.tick({}, { idlePasses: idle });
      await stage.tick({}, { idlePasses: idle }); // a pass within the interval does not count
      if (idle.shouldWarn) warnings.push(-pass);
      await stage.lab.advance(59_999);
      await stage.tick({}, { idlePasses: idle });
      if (idle.shouldWarn) warnings.push(-pass);
      await stage.lab.advance(1);
      const report = await stage.tick({}, { idlePasses: idle });
      if (idle.shouldWarn) warnings.push(pass);
      expect(report.idle).toEqual({ passes: pass + 1, since });
    }
    expect(warnings).toEqual([5, 10]);
    const [row] = await stage.lab.raw<{ last_report: string }>("select last_report from dispatcher");
    expect(JSON.parse(row?.last_report ?? "")).toMatchObject({
      skipped_nonspawnable: 1,
      idle: { passes: 13 },
    });
    await stage.add("b");
    expect((await stage.tick({}, { idlePasses: idle })).idle).toBeNull();
  });

  it("B4.13, G16: a paused board, and one where nothing is ready, is not idle", async () => {
    await using stage = await openHindered();
    const idle = new IdlePasses();
    expect((await stage.tick({}, { idlePasses: idle })).idle).toBeNull();
    await stage.add("a");
    await stage.operator.pause(true, neverAborted);
    expect((await stage.tick({}, { idlePasses: idle })).idle).toBeNull();
  });

  it("board G14, board G15: a profile that was removed, renamed or cannot run is named at once; other profiles proceed", async () => {
    await using stage = await openHindered();
    const lost = await stage.add("a", { assignee: "alpha" });
    stage.host.profiles.delete("alpha"); // a rename looks the same: the new name is another profile
    stage.host.profiles.add("gamma");
    const other = await stage.add("b", { assignee: "beta" });
    const report = await stage.tick();
    expect(report).toMatchObject({ skipped_nonspawnable: [lost.id], spawned: [{ task_id: other.id }] });
    const why = await stage.why(lost.id);
    expect(why).toMatchObject({ reason: "nonspawnable", text: expect.stringContaining("no profile alpha") });
    expect(await stage.hindered()).toEqual([[lost.id, "nonspawnable"]]);
    await stage.operator.assign(lost.id, "gamma", undefined, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([lost.id]);
  });

  it("board G15: a profile that is removed while its worker starts does not count against the task", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a", { assignee: "alpha", maxRetries: 1 });
    stage.host.onStart = async () => {
      stage.host.profiles.delete("alpha");
      return { kind: "failed", cause: "spawn", error: "no such folder" };
    };
    await stage.tick();
    const { task, runs } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "ready", consecutive_failures: 0 });
    expect(runs[0]).toMatchObject({ outcome: "infra_killed", error: "There is no profile alpha here." });
    expect((await stage.tick()).skipped_nonspawnable).toEqual([id]);
    expect(await stage.why(id)).toMatchObject({ reason: "nonspawnable" });
  });

  it("board G18: a board that is paused during a pass starts no further task, and the report shows it", async () => {
    await using stage = await openHindered();
    const tasks = [await stage.add("a"), await stage.add("b")];
    const { onStart } = stage.host;
    stage.host.memoryPressure = async () => {
      await stage.operator.pause(true, neverAborted);
      return "none";
    };
    const report = await stage.tick();
    expect(report).toMatchObject({ paused: true, spawned: [], deferred_capacity: tasks.map(({ id }) => id) });
    expect(await stage.why(tasks[0]?.id ?? "")).toMatchObject({ reason: "paused" });
    await stage.operator.pause(false, neverAborted);
    stage.host.memoryPressure = async () => "none";
    stage.host.onStart = async (claimed) => {
      await stage.operator.pause(true, neverAborted); // claimed tasks are still started
      return onStart(claimed);
    };
    const { spawned } = await stage.tick();
    expect(spawned.length).toBeGreaterThan(0);
    for (const { task_id: id } of spawned) expect(await stage.why(id)).toMatchObject({ reason: "running" });
  });

  it("a clock that jumps an hour ahead ends a run without a failure, after its worker is killed", async () => {
    await using stage = await openHindered();
    const { id } = await stage.add("a");
    await stage.tick();
    await stage.lab.advance(HOUR_MS);
    const report = await stage.tick();
    expect(stage.host.terminated).toHaveLength(1);
    expect(report).toMatchObject({ reclaimed: 1, spawned: [{ task_id: id }] });
    const { task, runs } = await stage.store.show(id, neverAborted);
    expect(task.consecutive_failures).toBe(0);
    expect(runs.map(({ outcome }) => outcome)).toEqual(["reclaimed", null]);
    expect(await stage.why(id)).toMatchObject({ reason: "running" });
  });

  it("a clock that is set back an hour neither ends a live run nor hides a dead one", async () => {
    await using stage = await openHindered();
    const [live, dead] = [await stage.add("a"), await stage.add("b")];
    await stage.tick();
    await stage.lab.advance(-HOUR_MS);
    expect(await stage.tick()).toMatchObject({ crashed: [], reclaimed: 0 });
    const run = (await stage.runs(dead.id))[0];
    stage.host.liveness.set(run?.id ?? 0, "dead");
    expect((await stage.tick()).crashed).toEqual([dead.id]);
    expect(await stage.statusOf(live.id)).toBe("running");
    expect(await stage.why(dead.id)).toMatchObject({ reason: "backoff" });
  });
}
