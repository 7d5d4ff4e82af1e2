import type { ClaimedTask } from "../operations/runs/claim.ts";
import type { Run, Task } from "../task.ts";
import type { BranchTask, BranchUser } from "../workspaces/git/find-branch-user.ts";
import type { Slot } from "./host-slots.ts";

/** The model that a task requests instead of its profile's model. */
export type ModelChoice = Pick<Task, "model_override" | "provider_override">;

/** Whether a profile can work on this host now; the reason is a sentence that is shown to users. */
export type ProfileCheck = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** The result of a start. After `failed` no process of the run is alive, and the dispatcher ends the run. */
export type StartResult =
  | { readonly kind: "started"; readonly workspace: string; readonly supervisorPid?: number }
  | {
      readonly kind: "failed";
      /** What failed: the task's workspace, the worker's program, or this host, which does not count against the task. */
      readonly cause: "workspace" | "spawn" | "infrastructure";
      readonly error: string;
    };

/** Whether a process of a run is alive. `dead` needs proof; `host-restarted` means dead and does not count against the task. */
export type RunLiveness = "alive" | "dead" | "host-restarted" | "unknown";

/** `gone`: supervisor, worker and all their descendants have provably exited. Otherwise the task must not be claimed. */
export type Termination = "gone" | "survived" | "unknown";

export type MemoryPressure = "none" | "elevated" | "critical";

/**
 * What a dispatcher needs from the machine that it runs on. The dispatcher owns the rows of a run until `start` resolves
 * with `started`; then the run's supervisor owns them. The supervisor renews the lease with the token every 10 s, for the
 * first time before the worker starts. It kills its process group before a lease that it cannot renew expires, and reports
 * the exit with `endRun` as `runEndingOf` decides. On `run-superseded` it kills the group and reports nothing.
 */
export interface DispatchHost {
  /** The id that `readHostFacts` returns and that `run.host_id` holds. */
  readonly id: string;
  runnable(profile: string, signal: AbortSignal): Promise<ProfileCheck>;
  /** Provider, address, model and key of a task. A limit or refusal of one worker guards all tasks with the same route. */
  routeOf(profile: string, wanted: ModelChoice, signal: AbortSignal): Promise<string>;
  /** The checkout that occupies a task's branch; undefined when the branch is free or the start reports a better error. */
  findBranchUser(task: BranchTask, signal: AbortSignal): Promise<BranchUser | undefined>;
  /** Prepares the workspace and starts a supervisor that outlives this process. */
  start(claimed: ClaimedTask, signal: AbortSignal): Promise<StartResult>;
  /** Called only for runs of this host. A run without known processes is `unknown`. */
  isAlive(run: Run, signal: AbortSignal): Promise<RunLiveness>;
  /** Ends all processes of a run of this host (TERM, KILL after 5 s); never signals a process that it cannot identify. */
  terminate(run: Run, signal: AbortSignal): Promise<Termination>;
  memoryPressure(signal: AbortSignal): Promise<MemoryPressure>;
  /** How many tasks run on this host for other boards of the same root home. */
  runningElsewhere(signal: AbortSignal): Promise<number>;
  /** Reserves a slot for one more task on this host; undefined when `limit` slots are taken by all boards together. */
  reserveSlot(limit: number, signal: AbortSignal): Promise<Slot | undefined>;
}
