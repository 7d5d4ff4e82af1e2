import { OUTCOMES, type PassReport } from "../../../../board/dispatcher/pass-report.ts";
import { GUARDS } from "../../../../board/dispatcher/reasons/guards.ts";
import type { TaskName } from "../../../../board/operations/views/list-details.ts";
import { formatNear } from "../../../../lib/time/format-time.ts";
import { briefName } from "../views/event-line.ts";

/** How many tasks of one outcome are named; the rest are counted. */
const NAMED = 5;

/** The outcomes of a pass in words, after a count or a list of tasks. */
export const OUTCOME_WORDS: Readonly<Record<(typeof OUTCOMES)[number], string>> = {
  spawned: "started",
  skipped_unassigned: "no assignee",
  skipped_nonspawnable: "profile not usable here",
  skipped_per_profile_capped: "limit of their profile reached",
  respawn_guarded: "not retried yet",
  concurrent_claimed: "claimed or changed by another process",
  deferred_capacity: "no free slot",
};

type Names = ReadonlyMap<string, TaskName>;
type Outcome = (typeof OUTCOMES)[number];

export function tasksToName(report: PassReport): readonly string[] {
  return [
    ...report.spawned.map(({ task_id }) => task_id),
    ...report.spawn_failed.map(({ task_id }) => task_id),
    ...NOT_STARTED.flatMap((outcome) => idsOf(report, outcome).slice(0, NAMED)),
  ];
}

const NOT_STARTED = OUTCOMES.filter((outcome) => outcome !== "spawned");

/** The tasks that a pass did not start, each with the reason. */
export function tasksNotStarted(report: PassReport): ReadonlySet<string> {
  return new Set(NOT_STARTED.flatMap((outcome) => report[outcome].map((one) => reasonKeyOf(outcome, one))));
}

/** The report without the tasks that are in `known` and were again not started for the same reason. */
export function withoutTasks(report: PassReport, known: ReadonlySet<string>): PassReport {
  const rest = NOT_STARTED.map((outcome) => [
    outcome,
    report[outcome].filter((one) => !known.has(reasonKeyOf(outcome, one))),
  ]);
  return { ...report, ...(Object.fromEntries(rest) as Partial<PassReport>) };
}

type Entry = PassReport[Outcome][number];

function reasonKeyOf(outcome: Outcome, one: Entry): string {
  if (typeof one === "string") return `${outcome} ${one}`;
  return `${outcome} ${one.task_id} ${"reason" in one ? one.reason : ""}`;
}

interface PassSummary {
  readonly actions: readonly string[];
  /** Tasks that start within seconds. */
  readonly startingSoon: readonly string[];
  /** Tasks that do not start. */
  readonly notStarted: readonly string[];
}

/** Formats a pass as sentences: what it did with which tasks, and which tasks it did not start and why. */
export function summarizePass(report: PassReport, names: Names): PassSummary {
  if (report.paused)
    return {
      actions: [],
      startingSoon: [],
      notStarted: ["The board is paused. Resume it with `hermes kanban resume`."],
    };
  const nameOf = (id: string): string => {
    const name = names.get(id);
    return name === undefined ? id : briefName(name);
  };
  const started = report.dry_run ? "Would start" : "Started";
  const assigned = new Set(report.auto_assigned_default);
  const actions = [
    ...report.spawned.map(({ task_id, assignee }) => {
      const how = assigned.has(task_id) ? " (kanban.default_assignee)" : "";
      return `${started} ${nameOf(task_id)} as ${assignee}${how}.`;
    }),
    ...report.spawn_failed.map(({ task_id, error }) => `Could not start ${nameOf(task_id)}: ${error}`),
  ];
  const tasks = (count: number): string => (count === 1 ? "1 task" : `${count} tasks`);
  if (report.promoted > 0) actions.push(`${tasks(report.promoted)} became ready.`);
  if (report.reclaimed > 0) actions.push(`Reclaimed ${tasks(report.reclaimed)} whose worker was lost.`);
  const listTasks = (ids: readonly string[], detail: (id: string) => string = () => ""): string => {
    const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
    return `${ids
      .slice(0, NAMED)
      .map((id) => `${nameOf(id)}${detail(id)}`)
      .join(", ")}${more}`;
  };
  const leaving = new Set(
    report.respawn_guarded.flatMap(({ task_id, reason }) => (reason === "worker_leaving" ? [task_id] : [])),
  );
  const startingSoon =
    leaving.size === 0 ? [] : [`Not started until a worker has exited: ${listTasks([...leaving])}.`];
  const notStarted = NOT_STARTED.flatMap((outcome) => {
    const ids = idsOf(report, outcome).filter((id) => !leaving.has(id));
    if (ids.length === 0) return [];
    const why = outcome === "respawn_guarded" ? " yet" : `, ${OUTCOME_WORDS[outcome]}`;
    return [`Not started${why}: ${listTasks(ids, (id) => detailOf(report, outcome, id))}.`];
  });
  if (report.has_more) notStarted.push("More tasks are ready than were checked.");
  const reasons = Object.entries(report.nonspawnable_reasons).map(([name, reason]) => `  ${name}: ${reason}`);
  return { actions, startingSoon, notStarted: [...notStarted, ...reasons] };
}

function idsOf(report: PassReport, outcome: Outcome): readonly string[] {
  return report[outcome].map((one) => (typeof one === "string" ? one : one.task_id));
}

function detailOf(report: PassReport, outcome: Outcome, id: string): string {
  if (outcome !== "respawn_guarded") return "";
  const guard = report.respawn_guarded.find(({ task_id }) => task_id === id);
  if (guard === undefined) return "";
  if (guard.reason !== "branch_busy")
    return ` (${GUARDS[guard.reason]}, until ${formatNear(guard.until, report.looked_at)})`;
  return ` (it waits for its branch${guard.met_by === undefined ? "" : `, which #${guard.met_by} uses`})`;
}
