import type { MemoryPressure } from "./dispatch-host.ts";
import type { Guard } from "./reasons/guards.ts";

/** What one pass did with each task, under the keys of `dispatch --json`. */
export type PassReport = ReturnType<typeof createPassReport>;

export const OUTCOMES = [
  "spawned",
  "skipped_unassigned",
  "skipped_nonspawnable",
  "skipped_per_profile_capped",
  "respawn_guarded",
  "concurrent_claimed",
  "deferred_capacity",
] as const satisfies readonly (keyof PassReport)[];

export function createPassReport(board: string, dryRun: boolean) {
  return {
    board,
    dry_run: dryRun,
    /** Whether another dispatcher does the bookkeeping. */
    skipped_locked: false,
    paused: false,
    memory_pressure: null as Exclude<MemoryPressure, "none"> | null,

    // Each eligible task is in exactly one of these.
    spawned: [] as { task_id: string; assignee: string; workspace: string }[],
    skipped_unassigned: [] as string[],
    skipped_nonspawnable: [] as string[],
    skipped_per_profile_capped: [] as { task_id: string; assignee: string; current: number }[],
    respawn_guarded: [] as ({ task_id: string } & Guard)[],
    concurrent_claimed: [] as string[],
    deferred_capacity: [] as string[],
    /** Whether more tasks are ready that this pass did not read, because a limit is reached. */
    has_more: false,

    // Other results; a task may be in several.
    reclaimed: 0,
    promoted: 0,
    crashed: [] as string[],
    timed_out: [] as string[],
    stale: [] as string[],
    rate_limited: [] as string[],
    auto_blocked: [] as string[],
    reclaim_deferred: [] as string[],
    reconciled_orphans: [] as string[],
    reaped_terminal_workers: [] as number[],
    auto_assigned_default: [] as string[],
    spawn_failed: [] as { task_id: string; error: string }[],
    /** Why profiles cannot work here. */
    nonspawnable_reasons: {} as Record<string, string>,
    /** How many passes in a row, counted once per interval, started nothing although tasks were ready, and since when. */
    idle: null as { readonly passes: number; readonly since: number } | null,
    /** The time on the board's clock at which the tasks were read. */
    looked_at: 0,
    /** When work is due that no event of the board announces. */
    next_due_at: null as number | null,
  };
}

/** How many tasks had each outcome, for a log line. */
export function countOutcomes(report: PassReport): Readonly<Record<string, number>> {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, report[outcome].length]));
}

/** Requests a pass at this time of the board's clock, unless an earlier pass is already requested. */
export function requestPassAt(report: PassReport, at: number): void {
  report.next_due_at = Math.min(at, report.next_due_at ?? Number.POSITIVE_INFINITY);
}
