import { expect, it, vi } from "vitest";
import { explainTask } from "../../../src/board/dispatcher/reasons/explain-task.ts";
import {
  runEndingOf,
  VANISHED as SEEN_TO_VANISH,
  type WorkerExit,
} from "../../../src/board/dispatcher/rules/run-ending.ts";
import { runPass } from "../../../src/board/dispatcher/run-pass.ts";
import type { ClaimedTask } from "../../../src/board/operations/runs/claim.ts";
import { neverAborted } from "../../../src/lib/time/never-aborted.ts";
import { idsOf } from "../../board-simulation/ids-of.ts";
import { type BoardLab, runCaller } from "../../support/board-lab.ts";
import type { DispatchSettings } from "../../support/dispatch-policy.ts";
import { openDispatchStage } from "./dispatch-stage.contract.ts";

const HOUR_MS = 3_600_000;
const VANISHED = expect.stringContaining("supervisor of the run vanished");

/** What a pass does with failed runs, and which dispatcher does it. */
export function bookkeepingContract(openLab: () => Promise<BoardLab>): void {
  /** A stage with one running task. */
  async function openRunning(settings: DispatchSettings = {}, details = {}) {
    const stage = await openDispatchStage(openLab, settings);
    const { id } = await stage.add("a", details);
    await stage.tick();
    const [claimed] = stage.host.started;
    if (claimed === undefined) throw new Error("not started");
    const supervisor = stage.store.as(runCaller(claimed.task, claimed.run, claimed.token));
    const end = (exit: WorkerExit, target: ClaimedTask = claimed, history = {}) =>
      endAs(stage, exit, target, history);
    return { ...stage, id, claimed, supervisor, end };
  }
  /** Ends a run as its supervisor does. */
  const endAs = (
    { system, parts }: Awaited<ReturnType<typeof openDispatchStage>>,
    exit: WorkerExit,
    { run }: ClaimedTask,
    history = {},
  ) =>
    system.endRun(
      runEndingOf(exit, { runId: run.id, failures: 0, ...history }, parts.policy, () => 0.5),
      neverAborted,
    );

  it("B6.13, B6.14: a failed start releases the claim and counts; the task waits longer each time and is given up at the limit", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    stage.host.onStart = async () => ({ kind: "failed", cause: "workspace", error: "no such folder" });
    const first = await stage.tick();
    expect(first.spawn_failed).toEqual([{ task_id: id, error: "workspace: no such folder" }]);
    expect(first.respawn_guarded).toMatchObject([{ task_id: id }]);
    expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
      status: "ready",
      consecutive_failures: 1,
    });
    expect((await stage.tick()).respawn_guarded).toMatchObject([{ task_id: id, reason: "backoff" }]);
    await stage.lab.advance(60_000);
    stage.host.onStart = async () => {
      throw new Error("no such program");
    };
    const last = await stage.tick();
    expect(last.auto_blocked).toEqual([id]);
    const [, run] = await stage.runs(id);
    expect(run).toMatchObject({ outcome: "gave_up", error: "no such program" });
    expect(await stage.statusOf(id)).toBe("blocked");
  });

  it("B6.14: a start that threw and left a process alive keeps the task claimed", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    stage.host.termination = "survived";
    stage.host.onStart = async () => {
      throw new Error("half started");
    };
    await stage.tick();
    expect(await stage.statusOf(id)).toBe("running");
  });

  it("B6.14: a start that was aborted because the dispatcher stops does not count against the task", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const stop = new AbortController();
    stage.host.onStart = async () => {
      stop.abort(new Error("stopped"));
      throw stop.signal.reason;
    };
    await expect(runPass(stage.parts, stop.signal)).rejects.toThrow("stopped");
    expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
      status: "ready",
      consecutive_failures: 0,
    });
  });

  it("B6.15: a host that cannot start a worker does not count against the task", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    stage.host.onStart = async () => ({ kind: "failed", cause: "infrastructure", error: "no scope" });
    await stage.tick();
    expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
      status: "ready",
      consecutive_failures: 0,
    });
    const [guarded] = (await stage.tick()).respawn_guarded;
    expect(guarded).toMatchObject({ task_id: id, reason: "infrastructure_cooldown" });
  });

  it("a start that takes longer than a lease does not lose the lease", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const { onStart } = stage.host;
    let slept = 0;
    const clock = {
      ...stage.parts.clock,
      async sleep(ms: number, signal: AbortSignal): Promise<void> {
        if (slept++ >= 4) return stage.parts.clock.sleep(ms, signal);
        await stage.lab.advance(ms);
      },
    };
    stage.host.onStart = async (claimed) => {
      await vi.waitFor(() => expect(slept).toBeGreaterThan(4), { timeout: 60_000 });
      return onStart(claimed);
    };
    expect((await stage.tick({}, { clock })).spawned).toMatchObject([{ task_id: id }]);
    const [run] = await stage.runs(id);
    expect(run?.lease_until).toBe(stage.lab.now() + 30_000);
  });

  it("B6.16: a started run has its processes recorded, and the failure count of its task stays", async () => {
    await using stage = await openRunning({}, {});
    await stage.end({ outcome: "crashed", error: "x" });
    await stage.lab.advance(60_000);
    await stage.tick();
    const { task, runs } = await stage.store.show(stage.id, neverAborted);
    expect(task.consecutive_failures).toBe(1);
    expect(runs.at(-1)).toMatchObject({ worker_pid: 1_000 + (runs.at(-1)?.id ?? 0) + 1 });
    expect(await stage.kinds(stage.id)).toContain("spawned");
  });

  it("B6.17: the first write of a supervisor whose run was reclaimed is refused", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    const claimed = await stage.claim(id); // the dispatcher dies after the claim
    await stage.lab.advance(36_000);
    expect((await stage.tick()).reclaimed).toBe(1);
    const first = stage.worker(claimed).renew(undefined, neverAborted);
    await expect(first).rejects.toMatchObject({ code: "run-superseded" });
  });

  it("B6.18: a supervisor that renews slightly late keeps its run", async () => {
    await using stage = await openRunning();
    await stage.lab.advance(32_000);
    expect(await stage.tick()).toMatchObject({ reclaimed: 0 });
    expect(stage.host.terminated).toEqual([]);
    await stage.supervisor.renew(undefined, neverAborted);
    expect(await stage.statusOf(stage.id)).toBe("running");
  });

  it("B6.19, B6.20: the processes of a run with an expired lease are killed, then the run is reclaimed without a failure", async () => {
    await using stage = await openRunning();
    await stage.lab.advance(36_000);
    const report = await stage.tick({ max_spawn: 1 });
    expect(stage.host.terminated).toEqual([stage.claimed.run.id]);
    expect(report.reclaimed).toBe(1);
    const { task, runs } = await stage.store.show(stage.id, neverAborted);
    expect(task).toMatchObject({ consecutive_failures: 0, status: "running" });
    expect(runs.map(({ outcome }) => outcome)).toEqual(["reclaimed", null]);
  });

  it("B6.19: a heartbeat of an earlier run does not make a new one stale", async () => {
    await using stage = await openRunning({ dispatch_stale_timeout_seconds: 60 });
    await stage.lab.advance(30_000);
    await stage.supervisor.renew({}, neverAborted);
    expect((await stage.tick()).stale).toEqual([]);
  });

  it("B6.20, G6: a run of a vanished host is reclaimed after its lease and the margin", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    await stage.claim(id, { hostId: "host-2", supervisorPid: 7 });
    await stage.lab.advance(31_000);
    expect((await stage.tick()).reclaimed).toBe(0);
    await stage.lab.advance(4_000);
    expect((await stage.tick()).reclaimed).toBe(1);
    expect(stage.host.terminated).toEqual([]);
  });

  it("B6.21: a worker that survives the kill keeps its task claimed", async () => {
    await using stage = await openRunning();
    stage.host.termination = "survived";
    await stage.lab.advance(36_000);
    const report = await stage.tick();
    expect(report).toMatchObject({ reclaimed: 0, reclaim_deferred: [stage.id], spawned: [] });
    expect(await stage.statusOf(stage.id)).toBe("running");
    await stage.lab.advance(60_000);
    expect((await stage.tick()).reclaim_deferred).toEqual([]);
    stage.host.termination = "gone";
    await stage.lab.advance(66_000);
    expect((await stage.tick()).reclaimed).toBe(1);
  });

  it("B6.22: a worker that cannot be identified keeps its task claimed", async () => {
    await using stage = await openRunning();
    stage.host.termination = "unknown";
    await stage.lab.advance(36_000);
    expect(await stage.tick()).toMatchObject({ reclaimed: 0, reclaim_deferred: [stage.id] });
  });

  it("B6.23: a task with status running but no open run is returned to the queue with a comment", async () => {
    await using stage = await openRunning();
    await stage.lab.raw("update run set ended_at = started_at, outcome = 'stale'");
    await stage.lab.raw("update counter set value = 0 where name <> 'event'");
    expect((await stage.tick({ reconcile_orphans: false })).reconciled_orphans).toEqual([]);
    const report = await stage.tick({}, { maxStarts: 0 });
    expect(report.reconciled_orphans).toEqual([stage.id]);
    const { task, comments } = await stage.store.show(stage.id, neverAborted);
    expect(task.status).toBe("ready");
    expect(comments.map(({ author }) => author)).toEqual(["dispatcher"]);
    expect(await stage.kinds(stage.id)).toContain("reconciled");
  });

  it("B6.24: a run without a heartbeat for too long is ended as stale, without a failure", async () => {
    await using stage = await openRunning({ dispatch_stale_timeout_seconds: 7_200 });
    for (let renewed = 0; renewed < 3; renewed++) {
      await stage.lab.advance(2_500_000);
      await stage.supervisor.renew(undefined, neverAborted);
    }
    const report = await stage.tick({}, { maxStarts: 0 });
    expect(report.stale).toEqual([stage.id]);
    expect(stage.host.terminated).toEqual([stage.claimed.run.id]);
    const { task, runs } = await stage.store.show(stage.id, neverAborted);
    expect(task).toMatchObject({ status: "ready", consecutive_failures: 0 });
    expect(runs[0]?.outcome).toBe("stale");
  });

  it("B6.25, G8: a vanished worker counts as crashed after a grace period and two checks that agree", async () => {
    await using stage = await openRunning();
    const { id: runId } = stage.claimed.run;
    stage.host.liveness.set(runId, "dead");
    expect((await stage.tick()).crashed).toEqual([]); // within the grace period
    await stage.lab.advance(30_000);
    await stage.supervisor.renew(undefined, neverAborted);
    let checks = 0;
    const isAlive = stage.host.isAlive.bind(stage.host);
    stage.host.isAlive = async (run) => (checks++ === 1 ? "alive" : isAlive(run));
    expect((await stage.tick()).crashed).toEqual([]);
    expect((await stage.tick()).crashed).toEqual([stage.id]);
    const { task } = await stage.store.show(stage.id, neverAborted);
    expect(task).toMatchObject({ consecutive_failures: 1, last_failure_error: VANISHED });
  });

  it("B6.25: a restart of the host does not count against its tasks", async () => {
    await using stage = await openRunning();
    stage.host.liveness.set(stage.claimed.run.id, "host-restarted");
    await stage.lab.advance(30_000);
    await stage.supervisor.renew(undefined, neverAborted);
    await stage.tick();
    expect((await stage.store.show(stage.id, neverAborted)).task).toMatchObject({ consecutive_failures: 0 });
    expect((await stage.runs(stage.id))[0]?.outcome).toBe("infra_killed");
  });

  async function openThree(settings: { readonly maxRetries?: number } = {}) {
    const stage = await openDispatchStage(openLab);
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await stage.add("t", settings)).id);
    await stage.tick();
    await stage.lab.advance(30_000);
    for (const claimed of stage.host.started) await stage.worker(claimed).renew(undefined, neverAborted);
    const fail = async (errorOf: (n: number) => string) => {
      for (const [n, claimed] of stage.host.started.entries())
        await endAs(stage, { outcome: "crashed", error: errorOf(n) }, claimed);
    };
    return { ...stage, ids: ids.sort(), fail };
  }

  it("B6.26: three tasks that fail with the same error within a minute are given up until a person retries them", async () => {
    await using stage = await openThree();
    await stage.fail((n) => `exit 1\nno module x${n}a at line ${n}`);
    expect((await stage.tick()).auto_blocked.toSorted()).toEqual(stage.ids);
    const why = await explainTask(stage.parts, stage.ids[0] ?? "", neverAborted);
    expect(why.text).toMatch(
      /^It is blocked after a failure: 3 tasks have just failed with the same error.*: exit 1$/,
    );
    expect(why.release).toMatch(/^hermes kanban retry/);
    expect((await stage.tick()).spawned).toEqual([]);
    for (const id of stage.ids) await stage.operator.promote(id, undefined, neverAborted);
    const report = await stage.tick(); // although the failures are recent
    expect([report.auto_blocked, idsOf(report, "spawned").toSorted()]).toEqual([[], stage.ids]);
  });

  it("B6.26: tasks with different errors are retried, and a task's own number of attempts takes precedence", async () => {
    await using different = await openThree();
    await different.fail((n) => ["no memory", "no module", "no network"][n] ?? "");
    expect((await different.tick()).auto_blocked).toEqual([]);
    await using own = await openThree({ maxRetries: 9 });
    await own.fail(() => "no module");
    expect((await own.tick()).auto_blocked).toEqual([]);
  });

  it("B6.26: killed workers, with or without their supervisors, do not count as one shared failure: failure_limit applies", async () => {
    const exits = [
      { error: "the worker was killed by SIGKILL", detail: { exit_code: null, signal: "SIGKILL" } },
      { error: "the worker ended with code 137", detail: { exit_code: 137 } },
      { error: SEEN_TO_VANISH },
    ];
    for (const exit of exits) {
      await using stage = await openThree();
      for (const claimed of stage.host.started) await endAs(stage, { outcome: "crashed", ...exit }, claimed);
      expect((await stage.tick()).auto_blocked, exit.error).toEqual([]);
      for (const id of stage.ids)
        expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
          status: "ready",
          consecutive_failures: 1,
        });
    }
  });

  it("G6: when many workers and supervisors vanish in one pass, they count as killed, not as failures of their tasks", async () => {
    await using stage = await openThree();
    for (const claimed of stage.host.started) stage.host.liveness.set(claimed.run.id, "dead");
    expect((await stage.tick()).crashed).toHaveLength(3);
    for (const id of stage.ids) {
      expect((await stage.store.show(id, neverAborted)).task).toMatchObject({
        status: "ready",
        consecutive_failures: 0,
      });
      expect((await stage.runs(id))[0]?.outcome).toBe("infra_killed");
    }
    await stage.lab.advance(60_000);
    expect(idsOf(await stage.tick(), "spawned").toSorted()).toEqual(stage.ids);
  });

  it("B6.27, G22: a rate limit does not count as a failure, but the attempts are bounded", async () => {
    await using stage = await openRunning();
    for (let attempt = 0; attempt < 20; attempt++) {
      const claimed = stage.host.started.at(-1) ?? stage.claimed;
      await stage.end({ outcome: "rate_limited" }, claimed);
      await stage.lab.advance(300_000);
      if (attempt < 19) expect(idsOf(await stage.tick(), "spawned")).toEqual([stage.id]);
    }
    const report = await stage.tick();
    expect(report).toMatchObject({ rate_limited: [stage.id], auto_blocked: [stage.id], spawned: [] });
    const { task } = await stage.store.show(stage.id, neverAborted);
    expect(task).toMatchObject({ status: "blocked", block_sticky: true, consecutive_failures: 0 });
  });

  it("B6.28: a task with a permanent failure is given up at once", async () => {
    await using stage = await openRunning();
    await stage.end({ outcome: "crashed", terminal: true, failureKind: "auth" });
    const { task } = await stage.store.show(stage.id, neverAborted);
    expect(task).toMatchObject({ status: "blocked", block_sticky: true });
  });

  it("B6.29, G20: a task whose worker ends without a result is retried, and given up after three times in a row", async () => {
    await using stage = await openRunning();
    for (let violations = 0; violations < 3; violations++) {
      const claimed = stage.host.started.at(-1) ?? stage.claimed;
      await stage.end({ outcome: "protocol_violation" }, claimed, { violations, failures: violations });
      expect(await stage.statusOf(stage.id)).toBe(violations < 2 ? "ready" : "blocked");
      await stage.lab.advance(3_600_000);
      await stage.tick();
    }
    expect((await stage.store.show(stage.id, neverAborted)).task.block_sticky).toBe(true);
  });

  it("B6.30: a run that takes longer than its task allows is ended and counted", async () => {
    await using stage = await openRunning({}, { maxRuntimeSeconds: 60 });
    await stage.lab.advance(59_000);
    await stage.supervisor.renew({}, neverAborted);
    expect((await stage.tick()).timed_out).toEqual([]);
    await stage.lab.advance(1_000);
    const report = await stage.tick();
    expect(report.timed_out).toEqual([stage.id]);
    expect(stage.host.terminated).toEqual([stage.claimed.run.id]);
    expect((await stage.store.show(stage.id, neverAborted)).task.consecutive_failures).toBe(1);
  });

  it("B6.30: a task whose run another host ended waits long enough for its supervisor to notice", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a", { maxRuntimeSeconds: 10, maxRetries: 9 });
    await stage.claim(id, { hostId: "host-2", supervisorPid: 7 });
    await stage.lab.advance(10_000);
    expect((await stage.tick()).timed_out).toEqual([id]);
    expect(stage.host.terminated).toEqual([]);
    await stage.lab.advance(24_000);
    expect((await stage.tick()).spawned).toEqual([]);
    await stage.lab.advance(1_000);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
  });

  it("B6.31, B6.32: a task that reaches the failure limit is blocked and gets one more attempt later", async () => {
    await using stage = await openRunning();
    await stage.end({ outcome: "crashed", error: "x" });
    await stage.lab.advance(60_000);
    await stage.tick();
    await stage.end({ outcome: "crashed", error: "y" }, stage.host.started.at(-1), { failures: 1 });
    const { events } = await stage.store.show(stage.id, neverAborted);
    expect(events.at(-1)).toMatchObject({
      kind: "gave_up",
      payload: { failures: 2, limit_source: "dispatcher" },
    });
    await stage.lab.advance(86_399_000);
    expect((await stage.tick()).spawned).toEqual([]);
    await stage.lab.advance(1_000);
    expect(await stage.tick()).toMatchObject({ promoted: 1, spawned: [{ task_id: stage.id }] });
  });

  it("B6.32: raising the limit unblocks a task that failures had blocked", async () => {
    await using stage = await openRunning({ failure_limit: 1 });
    await stage.end({ outcome: "crashed", error: "x" });
    expect(await stage.statusOf(stage.id)).toBe("blocked");
    expect((await stage.tick({ failure_limit: 1 })).promoted).toBe(0);
    expect((await stage.tick({ failure_limit: 3 })).promoted).toBe(1);
  });

  it("B6.33: a task that a person blocked stays blocked until a person unblocks it", async () => {
    await using stage = await openRunning();
    await stage.supervisor.block(stage.id, "need a decision", "needs_input", neverAborted);
    await stage.lab.advance(1_000_000_000);
    expect(await stage.tick()).toMatchObject({ promoted: 0, spawned: [] });
    await stage.operator.unblock(stage.id, undefined, neverAborted);
    expect(idsOf(await stage.tick(), "spawned")).toEqual([stage.id]);
  });

  it("a scheduled task starts at its time", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    await stage.operator.schedule(id, stage.lab.now() + 60_000, undefined, neverAborted);
    expect((await stage.tick()).next_due_at).toBe(stage.lab.now() + 60_000);
    await stage.lab.advance(60_000);
    expect(await stage.tick()).toMatchObject({ promoted: 1, spawned: [{ task_id: id }] });
  });

  it("a task that kills its supervisor counts a failure each time, even after its lease, and is blocked with that reason", async () => {
    await using stage = await openDispatchStage(openLab, { failure_limit: 2 });
    const { id } = await stage.add("a");
    for (let start = 1; start <= 2; start++) {
      expect(idsOf(await stage.tick(), "spawned")).toEqual([id]);
      stage.host.liveness.set(stage.host.started.at(-1)?.run.id ?? 0, "dead");
      await stage.lab.advance(36_000); // no pass before the lease has expired
      expect((await stage.tick()).crashed).toEqual([id]);
      await stage.lab.advance(HOUR_MS);
    }
    const { task } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "blocked", consecutive_failures: 2, last_failure_error: VANISHED });
  });

  it("a task that is repeatedly lost with its host counts failures from the fourth time on, and is then blocked", async () => {
    await using stage = await openDispatchStage(openLab, { failure_limit: 2 });
    const { id } = await stage.add("a");
    const failures: number[] = [];
    for (let host = 1; host <= 5; host++) {
      const claimed = await stage.claim(id, { hostId: `host-of-${host}`, supervisorPid: 7 });
      await stage.worker(claimed).describeRun({ workerPid: 8 }, neverAborted);
      await stage.lab.advance(36_000);
      expect((await stage.tick({}, { maxStarts: 0 })).reclaimed).toBe(1);
      failures.push((await stage.store.show(id, neverAborted)).task.consecutive_failures);
      await stage.lab.advance(HOUR_MS);
    }
    expect(failures).toEqual([0, 0, 0, 1, 2]);
    const { task } = await stage.store.show(id, neverAborted);
    expect(task).toMatchObject({ status: "blocked", last_failure_error: VANISHED });
  });

  it("the next pass is due when the lease of a run expires, so that a dead host's task starts soon after", async () => {
    await using stage = await openDispatchStage(openLab, { dispatch_interval_seconds: 3_600 });
    const { id } = await stage.add("a");
    const { run } = await stage.claim(id, { hostId: "host-2", supervisorPid: 7 });
    expect((await stage.tick()).next_due_at).toBe(run.lease_until + 5_000);
    const other = { host: stage.createHost("host-3"), owner: "dispatcher-2" };
    // A dispatcher without the lease makes its next pass when it could take the lease.
    expect(await stage.tick({}, other)).toMatchObject({
      skipped_locked: true,
      next_due_at: stage.lab.now() + 30_000,
    });
    await stage.lab.advance(35_000);
    expect(await stage.tick({}, other)).toMatchObject({ reclaimed: 1, spawned: [{ task_id: id }] });
  });

  it("G4: kills a worker that outlives its run", async () => {
    await using stage = await openRunning();
    await stage.supervisor.complete(stage.id, { summary: "done" }, neverAborted);
    await stage.lab.advance(34_999);
    expect((await stage.tick()).reaped_terminal_workers).toEqual([]);
    await stage.lab.advance(1);
    expect((await stage.tick()).reaped_terminal_workers).toEqual([stage.claimed.run.id]);
    expect((await stage.tick()).reaped_terminal_workers).toEqual([]);
  });

  it("G1: only the holder of the lease does the bookkeeping; other dispatchers still start tasks", async () => {
    await using stage = await openDispatchStage(openLab);
    const { id } = await stage.add("a");
    await stage.tick({}, { maxStarts: 0 });
    await stage.claim(id, { hostId: "host-3", supervisorPid: 7 });
    await stage.lab.advance(29_000); // the lease of the first dispatcher is valid, …
    await stage.tick({}, { maxStarts: 0 });
    await stage.lab.advance(10_000); // … that of the run has expired
    const fresh = await stage.add("b");
    const other = { host: stage.createHost("host-2"), owner: "dispatcher-2" };
    const second = await stage.tick({}, other);
    expect(second).toMatchObject({ skipped_locked: true, reclaimed: 0, spawned: [{ task_id: fresh.id }] });
    expect(await stage.statusOf(id)).toBe("running");
    const third = await stage.tick({}, { ...other, isDead: async (owner) => owner === "dispatcher-1" });
    expect(third).toMatchObject({ skipped_locked: false, reclaimed: 1 });
  });

  it("G1: a dispatcher that makes a single pass releases the lease together with its record", async () => {
    await using stage = await openDispatchStage(openLab);
    const other = { host: stage.createHost("host-2"), owner: "dispatcher-2" };
    await stage.tick({}, { isLast: true });
    expect(await stage.tick({}, other)).toMatchObject({ skipped_locked: false });
    expect(await stage.tick({}, { isLast: true })).toMatchObject({ skipped_locked: true });
    expect(await stage.tick({}, { owner: "dispatcher-3" })).toMatchObject({ skipped_locked: true }); // the second dispatcher held the lease
  });

  it("G1: a dispatcher that loses the lease during a pass writes no bookkeeping", async () => {
    await using stage = await openRunning();
    await stage.lab.advance(36_000);
    const terminate = stage.host.terminate.bind(stage.host);
    stage.host.terminate = async (run) => {
      await stage.lab.advance(31_000);
      await stage.tick({}, { host: stage.createHost("host-2"), owner: "dispatcher-2", maxStarts: 0 });
      return terminate(run);
    };
    const before = (await stage.runs(stage.id)).length;
    const report = await stage.tick({}, { maxStarts: 0 });
    expect(report).toMatchObject({ skipped_locked: true, reclaimed: 0 });
    expect((await stage.runs(stage.id)).length).toBe(before);
  });
}
