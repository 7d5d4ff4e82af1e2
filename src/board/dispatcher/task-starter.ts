import type { ClaimedTask } from "../operations/runs/claim.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import type { ProfileCheck } from "./dispatch-host.ts";
import type { Slot } from "./host-slots.ts";
import type { PassParts } from "./pass-parts.ts";
import { type PassReport, requestPassAt } from "./pass-report.ts";
import { branchGuard, findBranchGuard } from "./reasons/branch-guard.ts";
import { type Guard, guardOf } from "./reasons/guards.ts";
import { FairQueue, type QueuedTask, strideOf } from "./rules/fair-queue.ts";
import { profileCap } from "./rules/resolve-dispatch-policy.ts";
import { RUN_LEASE_MS } from "./rules/run-lease.ts";
import { type StartOutcome, startClaimed } from "./start-claimed.ts";
import { claimForHost, type HostClaimResult, refusalIn } from "./transactions/claim-for-host.ts";
import {
  type Cursor,
  type EligibleTask,
  type EligibleTasks,
  listEligible,
} from "./transactions/list-eligible.ts";
import {
  formatNoticeLine,
  hasPendingNotice,
  type NoticeUpdate,
  recordNotices,
  type WaitNotice,
} from "./transactions/record-notices.ts";

const RELEASE_MS = 10_000;
/** Slots are polled, because this board announces nothing when a task of another board ends. */
const SLOT_RETRY_MS = 5_000;

/** How many tasks of each profile a pass reads first; the pass reads more only while more tasks may start. */
export const INITIAL_TASKS_PER_PROFILE = 50;

/** A task that can start if the limits allow it. */
interface Candidate extends QueuedTask {
  readonly task: EligibleTask;
  readonly isDefault: boolean;
}

/** Records exactly one outcome for each eligible task; claims and starts as many tasks as the limits allow. */
export class TaskStarter {
  readonly #parts: PassParts;
  #eligible: EligibleTasks;
  readonly #report: PassReport;
  readonly #signal: AbortSignal;
  readonly #runnable = new Map<string, ProfileCheck>();
  readonly #routes = new Map<string, string>();
  readonly #notices: NoticeUpdate[] = [];
  #startedByProfile = new Map<string, number>();
  #elsewhere = 0;
  /** How many tasks may still start in this pass. */
  #left: number | undefined;

  constructor(parts: PassParts, eligible: EligibleTasks, report: PassReport, signal: AbortSignal) {
    this.#parts = parts;
    this.#eligible = eligible;
    this.#report = report;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    for (let perProfile = 2 * INITIAL_TASKS_PER_PROFILE; ; perProfile *= 2) {
      await this.#processListed();
      const after = await this.#findPromisingCursors();
      this.#report.has_more ||= this.#eligible.nextCursors.some((cursor) => !after.includes(cursor));
      if (after.length === 0) return;
      const { rateLimitCooldownMs: rateLimitMs } = this.#parts.policy;
      this.#eligible = await this.#parts.board.read(
        () => listEligible({ rateLimitMs, perProfile, after }),
        this.#signal,
      );
      this.#startedByProfile = new Map(); // the counters that were just read include these tasks
    }
  }

  /** Where to continue the list: at profiles that can start one more task; empty when no more tasks may start. */
  async #findPromisingCursors(): Promise<readonly Cursor[]> {
    if (this.#eligible.nextCursors.length === 0 || (this.#left ?? (await this.#budget())) <= 0) return [];
    const found: Cursor[] = [];
    for (const cursor of this.#eligible.nextCursors) {
      const profile = cursor.assignee ?? (await this.#defaultAssignee());
      if (profile === undefined || !(await this.#isRunnable(profile)).ok) continue;
      if (this.#runningOf(profile) < profileCap(this.#parts.policy, profile)) found.push(cursor);
    }
    return found;
  }

  async #processListed(): Promise<void> {
    const candidates: Candidate[] = [];
    for (const task of this.#eligible.tasks) {
      const candidate = await this.#candidate(task);
      if (candidate !== undefined) candidates.push(candidate);
    }
    await this.#writeNotices();
    await this.#startInTurn(new FairQueue(candidates, this.#eligible.strideTotals));
    await this.#writeNotices();
  }

  async #writeNotices(): Promise<void> {
    const notices = this.#notices.splice(0);
    if (notices.length === 0 || this.#report.dry_run) return;
    await this.#parts.board.write(
      DISPATCHER,
      (transaction) => recordNotices(transaction, notices),
      this.#signal,
    );
  }

  async #candidate(task: EligibleTask): Promise<Candidate | undefined> {
    const { policy } = this.#parts;
    const report = this.#report;
    const { id, priority } = task;
    const profile = task.assignee ?? (await this.#defaultAssignee());
    if (profile === undefined) {
      report.skipped_unassigned.push(id);
      await this.#explainDefaultAssignee();
      return undefined;
    }
    const runnable = await this.#isRunnable(profile);
    if (!runnable.ok) {
      report.skipped_nonspawnable.push(id);
      report.nonspawnable_reasons[profile] = runnable.reason;
      // No notice for a profile that the settings exclude, because another home may dispatch it.
      if (this.#isAllowed(profile))
        this.#notify(task, "skipped_nonspawnable", { assignee: profile, reason: runnable.reason }, profile);
      return undefined;
    }
    const guard = guardOf(task, this.#eligible, policy, await this.#routeOf(profile, task));
    if (guard !== undefined) {
      this.#guard(task, guard);
      return undefined;
    }
    if (hasPendingNotice(task.lastNotices, this.#eligible.now))
      this.#notices.push({ taskId: id, forget: true });
    return { id, priority, profile, isDefault: task.assignee === null, task };
  }

  #guard(task: EligibleTask, guard: Guard): void {
    const { reason, until, met_by: causedByTask = 0 } = guard;
    this.#report.respawn_guarded.push({ task_id: task.id, ...guard });
    requestPassAt(this.#report, until);
    // It is unknown how long another checkout keeps the branch, so this notice has no end.
    if (reason === "branch_busy")
      this.#notify(task, "respawn_guarded", { reason }, `${reason} ${causedByTask}`, 0);
    else this.#notify(task, "respawn_guarded", { reason, until }, `${reason} ${task.run_id ?? 0}`, until);
  }

  #notify(
    { id, lastNotices }: EligibleTask,
    kind: WaitNotice["kind"],
    payload: WaitNotice["payload"],
    noticeKey: string,
    until?: number,
  ): void {
    const end = until === undefined ? {} : { until };
    const notice = { taskId: id, kind, payload, key: `${kind} ${noticeKey}`, ...end };
    if (lastNotices?.split("\n").includes(formatNoticeLine(notice)) !== true) this.#notices.push(notice);
  }

  /** Empty unless some route is limited or refused, because resolving a route reads the settings of the profile. */
  async #routeOf(profile: string, wanted: EligibleTask): Promise<string> {
    const { limitedRoutes, refusedRoutes } = this.#eligible;
    if (limitedRoutes.size + refusedRoutes.size === 0) return "";
    const key = JSON.stringify([profile, wanted.provider_override, wanted.model_override]);
    const known = this.#routes.get(key);
    if (known !== undefined) return known;
    const route = await this.#parts.host.routeOf(profile, wanted, this.#signal);
    this.#routes.set(key, route);
    return route;
  }

  async #defaultAssignee(): Promise<string | undefined> {
    const name = this.#parts.policy.defaultAssignee;
    return name !== undefined && (await this.#isRunnable(name)).ok ? name : undefined;
  }

  /** Reports why the profile of `kanban.default_assignee` gets no tasks. */
  async #explainDefaultAssignee(): Promise<void> {
    const name = this.#parts.policy.defaultAssignee;
    if (name === undefined) return;
    const runnable = await this.#isRunnable(name);
    if (!runnable.ok)
      this.#report.nonspawnable_reasons[name] ??= `${runnable.reason} kanban.default_assignee names it.`;
  }

  async #isRunnable(profile: string): Promise<ProfileCheck> {
    const known = this.#runnable.get(profile);
    if (known !== undefined) return known;
    const { host } = this.#parts;
    const runnable: ProfileCheck = this.#isAllowed(profile)
      ? await host.runnable(profile, this.#signal)
      : { ok: false, reason: "kanban.dispatch_profiles of this home does not list it." };
    this.#runnable.set(profile, runnable);
    return runnable;
  }

  #isAllowed(profile: string): boolean {
    const { profiles } = this.#parts.policy;
    return profiles === undefined || profiles.includes(profile);
  }

  /** How many tasks may start: the minimum over all caps. No running task is subtracted from a cap twice. */
  async #budget(): Promise<number> {
    const { host, policy, maxStarts } = this.#parts;
    const pressure = await host.memoryPressure(this.#signal);
    this.#report.memory_pressure = pressure === "none" ? null : pressure;
    if (policy.maxInProgress !== undefined) this.#elsewhere = await host.runningElsewhere(this.#signal);
    if (this.#elsewhere > 0) requestPassAt(this.#report, this.#eligible.now + SLOT_RETRY_MS);
    const countRunning = (counter: string): number => this.#eligible.running.get(counter) ?? 0;
    const onHost = countRunning(`running/host/${host.id}`) + this.#elsewhere;
    const remainders = [
      (policy.maxSpawn ?? Infinity) - countRunning("running"),
      (policy.maxInProgress ?? Infinity) - onHost,
      { none: Infinity, elevated: 1, critical: 0 }[pressure],
    ];
    return Math.max(0, Math.min(...remainders, maxStarts ?? Infinity));
  }

  async #startInTurn(queue: FairQueue<Candidate>): Promise<void> {
    const report = this.#report;
    const starts: Promise<unknown>[] = [];
    const failures: unknown[] = [];
    let next = queue.next();
    if (next === undefined) return;
    let left = this.#left ?? (await this.#budget());
    try {
      for (; next !== undefined; next = queue.next()) {
        const current = this.#runningOf(next.profile);
        if (left <= 0 || this.#parts.isStopping?.() === true) report.deferred_capacity.push(next.id);
        else if (current >= profileCap(this.#parts.policy, next.profile)) this.#recordCapped(next, current);
        else {
          const branch = await findBranchGuard(this.#parts, next.task, this.#eligible.now, this.#signal);
          if (branch !== undefined) {
            this.#guard(next.task, branch.guard);
            continue;
          }
          if (report.dry_run) {
            this.#countStarted(next, next.isDefault);
            report.spawned.push({ task_id: next.id, assignee: next.profile, workspace: "" });
            left--;
            queue.serve(next);
            continue;
          }
          const { slot, result } = await this.#claimWithSlot(next, queue.floor);
          if ("refused" in result) {
            if ("by" in result) this.#guard(next.task, branchGuard(this.#eligible.now, result.by));
            else left = this.#refuse(next, result.refused, left);
            continue;
          }
          left--;
          queue.serve(next);
          this.#countStarted(next, result.wasAssigned);
          starts.push(
            this.#start(next, result.claimed, slot).catch((error: unknown) => void failures.push(error)),
          );
        }
      }
    } finally {
      this.#left = left;
      await Promise.all(starts); // even after an error, every claimed task is started or its run is ended
    }
    if (failures.length > 0) throw failures[0];
  }

  #runningOf(profile: string): number {
    return (
      (this.#eligible.running.get(`running/profile/${profile}`) ?? 0) +
      (this.#startedByProfile.get(profile) ?? 0)
    );
  }

  #recordCapped({ id, profile }: Candidate, current: number): void {
    this.#report.skipped_per_profile_capped.push({ task_id: id, assignee: profile, current });
  }

  #countStarted({ id, profile }: Candidate, wasAssigned: boolean): void {
    this.#startedByProfile.set(profile, (this.#startedByProfile.get(profile) ?? 0) + 1);
    if (wasAssigned) this.#report.auto_assigned_default.push(id);
  }

  /** Reserves the slot before the claim: no transaction spans two boards, and a claimed task must be started. */
  async #claimWithSlot(
    candidate: Candidate,
    floor: number,
  ): Promise<{ readonly slot?: Slot | undefined; readonly result: HostClaimResult }> {
    const { host, policy } = this.#parts;
    if (policy.maxInProgress === undefined) return { result: await this.#claim(candidate, floor) };
    const slot = await host.reserveSlot(policy.maxInProgress, this.#signal);
    if (slot === undefined) {
      requestPassAt(this.#report, this.#eligible.now + SLOT_RETRY_MS);
      return { result: { refused: "host-cap" } };
    }
    let result: HostClaimResult | undefined;
    try {
      result = await this.#claim(candidate, floor);
      return { slot, result };
    } finally {
      if (result === undefined || "refused" in result) await slot.release(AbortSignal.timeout(RELEASE_MS));
    }
  }

  async #claim({ id, profile, priority, isDefault }: Candidate, floor: number): Promise<HostClaimResult> {
    const { board, host, policy } = this.#parts;
    const { maxSpawn, maxInProgress, perProfile } = policy;
    const caps = { board: maxSpawn, host: maxInProgress, runningElsewhere: this.#elsewhere, perProfile };
    const request = {
      taskId: id,
      hostId: host.id,
      leaseMs: RUN_LEASE_MS,
      caps,
      childLimits: policy.childLimits,
      defaultAssignee: isDefault ? profile : undefined,
      profile,
      stride: strideOf(priority),
      floor,
    };
    try {
      return await board.write(DISPATCHER, (transaction) => claimForHost(transaction, request), this.#signal);
    } catch (error) {
      const refused = refusalIn(error);
      if (refused === undefined) throw error;
      return { refused };
    }
  }

  /** Records a refusal that arose after the tasks were listed; returns how many tasks may still start. */
  #refuse(candidate: Candidate, reason: string, left: number): number {
    if (reason === "profile-cap") {
      this.#recordCapped(candidate, profileCap(this.#parts.policy, candidate.profile));
      return left;
    }
    if (reason === "paused") this.#report.paused = true; // the board was paused after the tasks were listed
    if (reason === "board-cap" || reason === "host-cap" || reason === "paused") {
      this.#report.deferred_capacity.push(candidate.id);
      return 0;
    }
    this.#report.concurrent_claimed.push(candidate.id);
    return left;
  }

  async #start({ id, profile }: Candidate, claimed: ClaimedTask, slot: Slot | undefined): Promise<void> {
    const report = this.#report;
    let supervisorPid: number | undefined;
    let started: StartOutcome;
    try {
      started = await startClaimed(this.#parts, claimed, this.#signal);
      if (started.kind === "started") supervisorPid = started.supervisorPid;
    } finally {
      const signal = AbortSignal.timeout(RELEASE_MS);
      await (supervisorPid === undefined ? slot?.release(signal) : slot?.giveTo(supervisorPid, signal));
    }
    if (started.kind === "started") {
      report.spawned.push({ task_id: id, assignee: profile, workspace: started.workspace });
      return;
    }
    report.spawn_failed.push({ task_id: id, error: started.error });
    if (started.givenUp) report.auto_blocked.push(id);
    const reason = started.cause === "infrastructure" ? "infrastructure_cooldown" : "backoff";
    report.respawn_guarded.push({ task_id: id, reason, until: this.#eligible.now });
  }
}
