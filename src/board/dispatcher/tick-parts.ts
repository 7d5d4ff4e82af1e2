import type { Clock } from "../../lib/clock.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./host.ts";
import type { IdlePasses } from "./idle-passes.ts";
import type { DispatchPolicy } from "./resolve-dispatch-policy.ts";

/** All that a pass needs. */
export interface TickParts {
  readonly board: DispatchBoard;
  readonly host: DispatchHost;
  readonly policy: DispatchPolicy;
  /** This dispatcher among all of the board, as `serialiseIdentity` writes it. */
  readonly owner: string;
  /** Whether another dispatcher is provably dead, so that nobody waits for its lease to end. */
  isDead(owner: string, signal: AbortSignal): Promise<boolean>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Passes that started nothing, counted between passes. */
  readonly idle?: IdlePasses;
  /** Asked before each claim; what is claimed already is still started. */
  isStopping?(): boolean;
  /** Says what would be done, and changes nothing. */
  readonly dryRun?: boolean;
  /** How many tasks of each profile it looks at first; all of them unless given, where nothing is changed. */
  readonly perProfile?: number;
  /** Starts no more than this in this pass. */
  readonly max?: number;
}
