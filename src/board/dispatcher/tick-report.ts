import type { Guard } from "./guards.ts";
import type { MemoryPressure } from "./host.ts";

/** What one pass did with each task, under the keys of `dispatch --json`. */
export interface TickReport {
  readonly board: string;
  readonly dry_run: boolean;
  /** Whether another dispatcher does the bookkeeping. */
  skipped_locked: boolean;
  paused: boolean;
  memory_pressure: Exclude<MemoryPressure, "none"> | null;

  // Each eligible task is in exactly one of these.
  readonly spawned: { task_id: string; assignee: string; workspace: string }[];
  readonly skipped_unassigned: string[];
  readonly skipped_nonspawnable: string[];
  readonly skipped_per_profile_capped: { task_id: string; assignee: string; current: number }[];
  readonly respawn_guarded: ({ task_id: string } & Guard)[];
  readonly concurrent_claimed: string[];
  readonly deferred_capacity: string[];
  /** Whether further tasks are ready that were not looked at, because there is no room for them. */
  has_more: boolean;

  // Notes beside it.
  reclaimed: number;
  promoted: number;
  readonly crashed: string[];
  readonly timed_out: string[];
  readonly stale: string[];
  readonly rate_limited: string[];
  readonly auto_blocked: string[];
  readonly reclaim_deferred: string[];
  readonly reconciled_orphans: string[];
  readonly reaped_terminal_workers: number[];
  readonly auto_assigned_default: string[];
  readonly spawn_failed: { task_id: string; error: string }[];
  /** Why profiles cannot work here. */
  readonly nonspawnable_reasons: Record<string, string>;
  /** How many passes in a row, one in each interval, have started nothing although tasks were ready, and since when. */
  idle: { readonly passes: number; readonly since: number } | null;
  /** The time of the board at which the tasks were looked at. */
  looked_at: number;
  /** When something is due that no change of the board will announce. */
  next_due_at: number | null;
}

export const OUTCOMES = [
  "spawned",
  "skipped_unassigned",
  "skipped_nonspawnable",
  "skipped_per_profile_capped",
  "respawn_guarded",
  "concurrent_claimed",
  "deferred_capacity",
] as const satisfies readonly (keyof TickReport)[];

export function createReport(board: string, dryRun: boolean): TickReport {
  return {
    board,
    dry_run: dryRun,
    skipped_locked: false,
    paused: false,
    memory_pressure: null,
    spawned: [],
    skipped_unassigned: [],
    skipped_nonspawnable: [],
    skipped_per_profile_capped: [],
    respawn_guarded: [],
    concurrent_claimed: [],
    deferred_capacity: [],
    has_more: false,
    reclaimed: 0,
    promoted: 0,
    crashed: [],
    timed_out: [],
    stale: [],
    rate_limited: [],
    auto_blocked: [],
    reclaim_deferred: [],
    reconciled_orphans: [],
    reaped_terminal_workers: [],
    auto_assigned_default: [],
    spawn_failed: [],
    nonspawnable_reasons: {},
    idle: null,
    looked_at: 0,
    next_due_at: null,
  };
}

/** How many tasks had each outcome, for a line of a log. */
export function countOutcomes(report: TickReport): Readonly<Record<string, number>> {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, report[outcome].length]));
}

/** Something is due at that time of the board: the next pass is then, unless something else comes first. */
export function expectPass(report: TickReport, at: number): void {
  report.next_due_at = Math.min(at, report.next_due_at ?? Number.POSITIVE_INFINITY);
}
