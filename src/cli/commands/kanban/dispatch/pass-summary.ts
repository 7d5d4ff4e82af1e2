import { GUARDS } from "../../../../board/dispatcher/guards.ts";
import { OUTCOMES, type TickReport } from "../../../../board/dispatcher/tick-report.ts";
import type { TaskName } from "../../../../board/operations/glance.ts";
import { formatTime } from "../../../../lib/format-time.ts";
import { briefName } from "../event-line.ts";

/** How many tasks of one outcome are named; the others are counted. */
const NAMED = 5;

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

type Names = ReadonlyMap<string, TaskName>;
type Outcome = (typeof OUTCOMES)[number];

/** The tasks that the summary of a pass names. */
export function tasksToName(report: TickReport): readonly string[] {
  return [
    ...report.spawned.map(({ task_id }) => task_id),
    ...report.spawn_failed.map(({ task_id }) => task_id),
    ...KEPT.flatMap((outcome) => idsOf(report, outcome).slice(0, NAMED)),
  ];
}

const KEPT = OUTCOMES.filter((outcome) => outcome !== "spawned");

interface PassSummary {
  readonly acts: readonly string[];
  /** What starts within seconds, and what does not. */
  readonly soon: readonly string[];
  readonly kept: readonly string[];
}

/** A pass in sentences: what it did with which tasks, and which it kept back and why. */
export function summaryOf(report: TickReport, names: Names): PassSummary {
  if (report.paused) return { acts: [], soon: [], kept: ["The board is paused: `hermes kanban resume`."] };
  const nameOf = (id: string): string => {
    const name = names.get(id);
    return name === undefined ? id : briefName(name);
  };
  const started = report.dry_run ? "Would start" : "Started";
  const assigned = new Set(report.auto_assigned_default);
  const acts = [
    ...report.spawned.map(({ task_id, assignee }) => {
      const how = assigned.has(task_id) ? ", to whom kanban.default_assignee gives it" : "";
      return `${started} ${nameOf(task_id)} as ${assignee}${how}.`;
    }),
    ...report.spawn_failed.map(({ task_id, error }) => `Could not start ${nameOf(task_id)}: ${error}`),
    ...(report.promoted === 0
      ? []
      : [`${report.promoted} ${report.promoted === 1 ? "task" : "tasks"} became ready.`]),
    ...(report.reclaimed === 0 ? [] : [`Took ${report.reclaimed} back whose worker was lost.`]),
  ];
  const listed = (ids: readonly string[], detail: (id: string) => string = () => ""): string => {
    const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
    return `${ids
      .slice(0, NAMED)
      .map((id) => `${nameOf(id)}${detail(id)}`)
      .join(", ")}${more}`;
  };
  const leaving = new Set(
    report.respawn_guarded.flatMap(({ task_id, reason }) => (reason === "worker_leaving" ? [task_id] : [])),
  );
  const soon = leaving.size === 0 ? [] : [`Kept back until a worker has ended: ${listed([...leaving])}.`];
  const kept = KEPT.flatMap((outcome) => {
    const ids = idsOf(report, outcome).filter((id) => !leaving.has(id));
    if (ids.length === 0) return [];
    return [`Kept back, ${WORDS[outcome]}: ${listed(ids, (id) => detailOf(report, outcome, id))}.`];
  });
  if (report.has_more) kept.push("More tasks are ready than were looked at.");
  const reasons = Object.entries(report.nonspawnable_reasons).map(([name, reason]) => `  ${name}: ${reason}`);
  return { acts, soon, kept: [...kept, ...reasons] };
}

function idsOf(report: TickReport, outcome: Outcome): readonly string[] {
  return report[outcome].map((one) => (typeof one === "string" ? one : one.task_id));
}

function detailOf(report: TickReport, outcome: Outcome, id: string): string {
  if (outcome !== "respawn_guarded") return "";
  const guard = report.respawn_guarded.find(({ task_id }) => task_id === id);
  if (guard === undefined) return "";
  if (guard.reason !== "branch_busy") return ` (${GUARDS[guard.reason]}, until ${formatTime(guard.until)})`;
  return ` (it waits for its branch${guard.met_by === undefined ? "" : `, which #${guard.met_by} uses`})`;
}
