import type { Clock } from "../../lib/time/clock.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./dispatch-host.ts";
import type { IdlePasses } from "./reasons/idle-passes.ts";
import type { DispatchPolicy } from "./rules/resolve-dispatch-policy.ts";

/** The dependencies and options of one pass. */
export interface PassParts {
  readonly board: DispatchBoard;
  readonly host: DispatchHost;
  readonly policy: DispatchPolicy;
  /** The identity of this dispatcher, as `serialiseIdentity` writes it. */
  readonly owner: string;
  /** Whether another dispatcher has provably exited, so that its lease can be taken at once. */
  isDead(owner: string, signal: AbortSignal): Promise<boolean>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Counts the passes that started nothing. */
  readonly idlePasses?: IdlePasses;
  /** Checked before each claim; tasks that are already claimed are still started. */
  isStopping?(): boolean;
  /** This dispatcher makes no further pass: it releases the lease together with the record of this pass. */
  readonly isLast?: boolean;
  /** Reports what a pass would do, and changes nothing. */
  readonly dryRun?: boolean;
  /** How many tasks of each profile the pass reads first; the default is `INITIAL_TASKS_PER_PROFILE`, in a dry run all tasks. */
  readonly perProfile?: number;
  /** The maximum number of starts in this pass. */
  readonly maxStarts?: number;
}
