import type { ClaimedTask } from "../operations/claim.ts";
import type { Run, Task } from "../task.ts";
import type { BranchTask, BranchUser } from "../workspaces/find-branch-user.ts";
import type { Slot } from "./host-slots.ts";

/** The model that a task asks for, if it is not that of its profile. */
export type ModelChoice = Pick<Task, "model_override" | "provider_override">;

/** Whether a profile could work here now; the reason is a sentence for people. */
export type Runnable = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** What became of a start. After `failed` nothing of the run lives, and the dispatcher ends the run. */
export type StartResult =
  | { readonly kind: "started"; readonly workspace: string; readonly supervisorPid?: number }
  | {
      readonly kind: "failed";
      /** Whose fault: the task's workspace, the worker's program, or this host, which is not held against the task. */
      readonly cause: "workspace" | "spawn" | "infrastructure";
      readonly error: string;
    };

/**
 * Whether supervisor or worker of a run of this host still live. `dead` needs proof; `host-restarted` is `dead` because
 * the machine was started anew, which is not held against the task; what cannot be known is `unknown`.
 */
export type RunLiveness = "alive" | "dead" | "host-restarted" | "unknown";

/** `gone`: supervisor, worker and all they started were seen to be gone. Anything else keeps the task from others. */
export type Termination = "gone" | "survived" | "unknown";

export type MemoryPressure = "none" | "elevated" | "critical";

/**
 * What a dispatcher needs of the machine that it runs on. The dispatcher owns the rows of a run until `start` resolves
 * with `started`; from then on its supervisor does: it renews the lease every 10 s with the token (first of all, before
 * any worker starts), kills its process group before a lease that it cannot renew ends, and reports the exit with
 * `endRun` (`runEndingOf` in run-ending.ts says how). On `run-superseded` it kills the group and reports nothing.
 */
export interface DispatchHost {
  /** As `readHostFacts` has it; in `run.host_id`. */
  readonly id: string;
  runnable(profile: string, signal: AbortSignal): Promise<Runnable>;
  /**
   * Stands for the way to the model of a task: provider, address, model and key. What one worker met on it waits for
   * all that have the same.
   */
  routeOf(profile: string, wanted: ModelChoice, signal: AbortSignal): Promise<string>;
  /** The checkout that keeps a task from its branch; undefined when it is free, or its start will say better. */
  findBranchUser(task: BranchTask, signal: AbortSignal): Promise<BranchUser | undefined>;
  /** Prepares the workspace and starts a supervisor that outlives this process. */
  start(claimed: ClaimedTask, signal: AbortSignal): Promise<StartResult>;
  /** Asked only about runs of this host. A run without known processes is `unknown`. */
  isAlive(run: Run, signal: AbortSignal): Promise<RunLiveness>;
  /** Ends all processes of a run of this host (TERM, KILL after 5 s); never signals a process that it cannot identify. */
  terminate(run: Run, signal: AbortSignal): Promise<Termination>;
  memoryPressure(signal: AbortSignal): Promise<MemoryPressure>;
  /** How many tasks run on this host for other boards of the same root home. */
  runningElsewhere(signal: AbortSignal): Promise<number>;
  /** A place for one more task on this host, for whichever board; undefined when `limit` are taken. */
  reserveSlot(limit: number, signal: AbortSignal): Promise<Slot | undefined>;
}
