import type { Caps } from "../operations/caps.ts";
import type { ClaimedTask } from "../operations/claim.ts";
import { branchGuard, findBranchGuard } from "./branch-guard.ts";
import { DISPATCHER } from "./dispatch-board.ts";
import { FairQueue, strideOf, type Waiting } from "./fair-queue.ts";
import { type Guard, guardOf } from "./guards.ts";
import type { Runnable } from "./host.ts";
import type { Slot } from "./host-slots.ts";
import { claimForHost, type HostClaimResult, refusalIn } from "./operations/claim-for-host.ts";
import { type Cursor, type Eligible, type EligibleTask, listEligible } from "./operations/list-eligible.ts";
import { isToldUntil, lineOf, type News, type Telling, tellOnce } from "./operations/tell-once.ts";
import { profileCap } from "./resolve-dispatch-policy.ts";
import { RUN_LEASE_MS } from "./run-lease.ts";
import { type Started, startClaimed } from "./start-claimed.ts";
import type { TickParts } from "./tick-parts.ts";
import { expectPass, type TickReport } from "./tick-report.ts";

const RELEASE_MS = 10_000;
/** Nothing of this board tells that a task of another one has ended. */
const SLOT_RETRY_MS = 5_000;

/**
 * How many tasks of each profile a pass looks at, unless they leave room: a pass must not take longer because much is
 * left to do.
 */
export const LOOKED_AT = 50;

/** A task that could start, if there is room. */
interface Candidate extends Waiting {
  readonly task: EligibleTask;
  readonly isDefault: boolean;
}

/** Gives each eligible task its one outcome; those that there is room for are claimed and started. */
export async function placeTasks(
  parts: TickParts,
  eligible: Eligible,
  report: TickReport,
  signal: AbortSignal,
): Promise<void> {
  await new Placement(parts, eligible, report, signal).run();
}

class Placement {
  readonly #parts: TickParts;
  #eligible: Eligible;
  readonly #report: TickReport;
  readonly #signal: AbortSignal;
  readonly #runnable = new Map<string, Runnable>();
  readonly #routes = new Map<string, string>();
  readonly #tellings: Telling[] = [];
  #placed = new Map<string, number>();
  #elsewhere = 0;
  /** How many may still start. */
  #left: number | undefined;

  constructor(parts: TickParts, eligible: Eligible, report: TickReport, signal: AbortSignal) {
    this.#parts = parts;
    this.#eligible = eligible;
    this.#report = report;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    for (let perProfile = 2 * LOOKED_AT; ; perProfile *= 2) {
      await this.#placeListed();
      const after = await this.#promising();
      this.#report.has_more ||= this.#eligible.more.some((cursor) => !after.includes(cursor));
      if (after.length === 0) return;
      const { rateLimitCooldownMs: rateLimitMs } = this.#parts.policy;
      this.#eligible = await this.#parts.board.read(
        () => listEligible({ rateLimitMs, perProfile, after }),
        this.#signal,
      );
      this.#placed = new Map(); // the counters have them by now
    }
  }

  /** Where to look on: while there is room, at the tasks of profiles that could start one. */
  async #promising(): Promise<readonly Cursor[]> {
    if ((this.#left ?? (await this.#budget())) <= 0) return [];
    const found: Cursor[] = [];
    for (const cursor of this.#eligible.more) {
      const profile = cursor.assignee ?? (await this.#defaultAssignee());
      if (profile === undefined || !(await this.#isRunnable(profile)).ok) continue;
      if (this.#runningOf(profile) < profileCap(this.#parts.policy, profile)) found.push(cursor);
    }
    return found;
  }

  async #placeListed(): Promise<void> {
    const candidates: Candidate[] = [];
    for (const task of this.#eligible.tasks) {
      const candidate = await this.#candidate(task);
      if (candidate !== undefined) candidates.push(candidate);
    }
    await this.#writeTellings();
    await this.#fill(new FairQueue(candidates, this.#eligible.passes));
    await this.#writeTellings();
  }

  async #writeTellings(): Promise<void> {
    const tellings = this.#tellings.splice(0);
    if (tellings.length === 0 || this.#report.dry_run) return;
    await this.#parts.board.write(DISPATCHER, (change) => tellOnce(change, tellings), this.#signal);
  }

  async #candidate(task: EligibleTask): Promise<Candidate | undefined> {
    const { policy } = this.#parts;
    const report = this.#report;
    const { id, priority } = task;
    const profile = task.assignee ?? (await this.#defaultAssignee());
    if (profile === undefined) {
      report.skipped_unassigned.push(id);
      return undefined;
    }
    const runnable = await this.#isRunnable(profile);
    if (!runnable.ok) {
      report.skipped_nonspawnable.push(id);
      report.nonspawnable_reasons[profile] = runnable.reason;
      // Left to another home on purpose, it is nobody's concern here.
      if (this.#isAllowed(profile))
        this.#tell(task, "skipped_nonspawnable", { assignee: profile, reason: runnable.reason }, profile);
      return undefined;
    }
    const guard = guardOf(task, this.#eligible, policy, await this.#routeOf(profile, task));
    if (guard !== undefined) {
      this.#guard(task, guard);
      return undefined;
    }
    if (isToldUntil(task.told, this.#eligible.now)) this.#tellings.push({ taskId: id, forget: true });
    return { id, priority, profile, isDefault: task.assignee === null, task };
  }

  #guard(task: EligibleTask, guard: Guard): void {
    const { reason, until, met_by: other = 0 } = guard;
    this.#report.respawn_guarded.push({ task_id: task.id, ...guard });
    expectPass(this.#report, until);
    // For how long another checkout has the branch nobody knows.
    if (reason === "branch_busy") this.#tell(task, "respawn_guarded", { reason }, `${reason} ${other}`, 0);
    else this.#tell(task, "respawn_guarded", { reason, until }, `${reason} ${task.run_id ?? 0}`, until);
  }

  #tell(
    { id, told }: EligibleTask,
    kind: News["kind"],
    payload: News["payload"],
    about: string,
    until?: number,
  ): void {
    const telling = {
      taskId: id,
      kind,
      payload,
      news: `${kind} ${about}`,
      ...(until !== undefined && { until }),
    };
    if (told?.split("\n").includes(lineOf(telling)) !== true) this.#tellings.push(telling);
  }

  /** Needed only where one is shut: to find it takes a look at the settings of the profile. */
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

  async #isRunnable(profile: string): Promise<Runnable> {
    const known = this.#runnable.get(profile);
    if (known !== undefined) return known;
    const { host } = this.#parts;
    const runnable: Runnable = this.#isAllowed(profile)
      ? await host.runnable(profile, this.#signal)
      : { ok: false, reason: "kanban.dispatch_profiles of this home does not name it." };
    this.#runnable.set(profile, runnable);
    return runnable;
  }

  #isAllowed(profile: string): boolean {
    const { profiles } = this.#parts.policy;
    return profiles === undefined || profiles.includes(profile);
  }

  /** How many may start: the least of what each cap leaves, and no running task is subtracted from a cap twice. */
  async #budget(): Promise<number> {
    const { host, policy, max } = this.#parts;
    const pressure = await host.memoryPressure(this.#signal);
    this.#report.memory_pressure = pressure === "none" ? null : pressure;
    if (policy.maxInProgress !== undefined) this.#elsewhere = await host.runningElsewhere(this.#signal);
    if (this.#elsewhere > 0) expectPass(this.#report, this.#eligible.now + SLOT_RETRY_MS);
    const running = (counter: string): number => this.#eligible.running.get(counter) ?? 0;
    const remainders = [
      (policy.maxSpawn ?? Number.POSITIVE_INFINITY) - running("running"),
      (policy.maxInProgress ?? Number.POSITIVE_INFINITY) -
        running(`running/host/${host.id}`) -
        this.#elsewhere,
      max ?? Number.POSITIVE_INFINITY,
      { none: Number.POSITIVE_INFINITY, elevated: 1, critical: 0 }[pressure],
    ];
    return Math.max(0, Math.min(...remainders));
  }

  async #fill(queue: FairQueue<Candidate>): Promise<void> {
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
        else if (current >= profileCap(this.#parts.policy, next.profile)) this.#cap(next, current);
        else {
          const branch = await findBranchGuard(this.#parts, next.task, this.#eligible.now, this.#signal);
          if (branch !== undefined) {
            this.#guard(next.task, branch.guard);
            continue;
          }
          if (report.dry_run) {
            this.#pretend(next);
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
          this.#place(next, result.wasAssigned);
          starts.push(
            this.#start(next, result.claimed, slot).catch((error: unknown) => void failures.push(error)),
          );
        }
      }
    } finally {
      this.#left = left;
      await Promise.all(starts); // whatever else goes wrong, what was claimed is started or ended
    }
    if (failures.length > 0) throw failures[0];
  }

  #runningOf(profile: string): number {
    return (this.#eligible.running.get(`running/profile/${profile}`) ?? 0) + (this.#placed.get(profile) ?? 0);
  }

  #cap({ id, profile }: Candidate, current: number): void {
    this.#report.skipped_per_profile_capped.push({ task_id: id, assignee: profile, current });
  }

  #place({ id, profile }: Candidate, wasAssigned: boolean): void {
    this.#placed.set(profile, (this.#placed.get(profile) ?? 0) + 1);
    if (wasAssigned) this.#report.auto_assigned_default.push(id);
  }

  #pretend(candidate: Candidate): void {
    this.#place(candidate, candidate.isDefault);
    this.#report.spawned.push({ task_id: candidate.id, assignee: candidate.profile, workspace: "" });
  }

  /** The place on the host comes first: no transaction spans two boards, and what is claimed must be started. */
  async #claimWithSlot(
    candidate: Candidate,
    floor: number,
  ): Promise<{ readonly slot?: Slot | undefined; readonly result: HostClaimResult }> {
    const { host, policy } = this.#parts;
    if (policy.maxInProgress === undefined) return { result: await this.#claim(candidate, floor) };
    const slot = await host.reserveSlot(policy.maxInProgress, this.#signal);
    if (slot === undefined) {
      expectPass(this.#report, this.#eligible.now + SLOT_RETRY_MS);
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
    const caps: Caps = {
      ...(policy.maxSpawn !== undefined && { board: policy.maxSpawn }),
      ...(policy.maxInProgress !== undefined && { host: policy.maxInProgress, elsewhere: this.#elsewhere }),
      ...(policy.perProfile !== undefined && { perProfile: policy.perProfile }),
    };
    const request = {
      taskId: id,
      hostId: host.id,
      leaseMs: RUN_LEASE_MS,
      caps,
      defaultAssignee: isDefault ? profile : undefined,
      profile,
      stride: strideOf(priority),
      floor,
    };
    try {
      return await board.write(DISPATCHER, (change) => claimForHost(change, request), this.#signal);
    } catch (error) {
      const refused = refusalIn(error);
      if (refused === undefined) throw error;
      return { refused };
    }
  }

  /** What the claim found that was not so when the tasks were listed; says how many may still start. */
  #refuse(candidate: Candidate, reason: string, left: number): number {
    if (reason === "profile-cap") {
      this.#cap(candidate, profileCap(this.#parts.policy, candidate.profile));
      return left;
    }
    if (reason === "paused") this.#report.paused = true; // since the tasks were listed
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
    let started: Started;
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
