import { DISPATCHER } from "../../../../board/dispatcher/dispatch-board.ts";
import { dispatchTick } from "../../../../board/dispatcher/dispatch-tick.ts";
import { findHolder, giveLeaseBack } from "../../../../board/dispatcher/operations/board-lease.ts";
import { OUTCOMES, type TickReport } from "../../../../board/dispatcher/tick-report.ts";
import { atBoard, type Desk, type JsonOption, requirePerson } from "../desk.ts";
import { openDispatch, ownDispatcher } from "./open-dispatch.ts";

export interface DispatchOptions extends JsonOption {
  readonly dryRun?: boolean;
  readonly max?: number;
}

/** One pass over one board. */
export async function dispatchOnce(
  desk: Desk,
  { dryRun = false, max, json }: DispatchOptions,
): Promise<void> {
  requirePerson(desk);
  await atBoard(desk, async (open) => {
    const { context, signal } = open;
    await using dispatch = await openDispatch(open);
    const { board } = dispatch;
    for (const warning of dispatch.policy.warnings) context.terminal.note(`hermes: warning: ${warning}`);
    const self = await ownDispatcher(signal);
    const options = { dryRun, ...(max !== undefined && { max }), isStopping: () => signal.aborted };
    const report = await dispatchTick({ ...dispatch, ...self, ...options }, signal);
    if (!dryRun) {
      const holder = await board.read(findHolder, signal);
      if (holder?.owner === self.owner)
        await board.write(DISPATCHER, () => giveLeaseBack(holder.token), signal);
    }
    if (json) context.terminal.printJson(report);
    else context.terminal.print(summaryOf(report).join("\n"));
  });
}

/** What became of tasks in a pass, behind their number. */
export const WORDS: Readonly<Record<(typeof OUTCOMES)[number], string>> = {
  spawned: "started",
  skipped_unassigned: "without an assignee",
  skipped_nonspawnable: "for a profile that cannot work here",
  skipped_per_profile_capped: "kept back by the cap of their profile",
  respawn_guarded: "not tried again yet",
  concurrent_claimed: "taken by another dispatcher meanwhile",
  deferred_capacity: "waiting for room",
};

/** A pass in sentences: what became of each task, and why nothing did. */
export function summaryOf(report: TickReport): readonly string[] {
  if (report.paused) return ["The board is paused: `hermes kanban resume`."];
  const started = report.dry_run ? "would be started" : WORDS.spawned;
  const lines = OUTCOMES.flatMap((outcome) => {
    const { length } = report[outcome];
    if (length === 0) return [];
    return [
      `${length} ${length === 1 ? "task" : "tasks"} ${outcome === "spawned" ? started : WORDS[outcome]}`,
    ];
  });
  const reasons = Object.entries(report.nonspawnable_reasons).map(([name, reason]) => `  ${name}: ${reason}`);
  const failures = report.spawn_failed.map(
    ({ task_id, error }) => `  ${task_id} could not be started: ${error}`,
  );
  return lines.length === 0 ? ["There is nothing to start."] : [...lines, ...reasons, ...failures];
}
