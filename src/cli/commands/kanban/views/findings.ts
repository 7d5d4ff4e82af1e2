import { Option } from "commander";
import { openDispatch } from "../../../../app/dispatch.ts";
import { type Explanation, explainTask } from "../../../../board/dispatcher/reasons/explain-task.ts";
import { findStuckTasks } from "../../../../board/dispatcher/reasons/find-stuck-tasks.ts";
import type { Diagnostic } from "../../../../board/operations/boards/diagnose.ts";
import type { Task } from "../../../../board/task.ts";
import { STATUSES } from "../../../../board/transitions.ts";
import { formatDuration, formatTime } from "../../../../lib/time/format-time.ts";
import type { AddVerb } from "../../../define-command.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapText } from "../../../terminal/fit-text.ts";
import { renderTable } from "../../../terminal/table.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { onBoard, profileNames } from "../verb.ts";

const SEVERITIES = ["warning", "error", "critical"] as const;
type Severity = (typeof SEVERITIES)[number];

/** The verbs that report on the board as a whole. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("stats", "Show task counts and cost.", ["hermes kanban stats --json"]).action(
    onBoard(kanbanContext, showStats),
  );
  add("assignees", "List profiles and lanes with their open tasks.", ["hermes kanban assignees"]).action(
    onBoard(kanbanContext, listAssignees),
  );
  add("diagnostics", "Find problems with open tasks and suggest fixes.", [
    "hermes kanban diagnostics",
    "hermes kanban diagnostics --severity error --json",
  ])
    .alias("diag")
    .addOption(new Option("--severity <level>", "minimum severity").choices(SEVERITIES))
    .option("--task <task>", "only findings for this task")
    .action(onBoard(kanbanContext, diagnose));
}

async function showStats(
  { store, signal, context: { terminal } }: OpenBoardContext,
  { json }: JsonOption,
): Promise<void> {
  const stats = await store.stats(signal);
  if (json) {
    return terminal.printJson({
      by_status: stats.byStatus,
      by_assignee: stats.byAssignee,
      oldest_ready_age_seconds: stats.oldestReadyAgeSeconds,
      cost_micros: stats.costMicros,
      latest_event_id: stats.latestEventId,
    });
  }
  const line = (label: string, value: string | number): string => `${label.padEnd(14)}${value}`;
  for (const [status, count] of Object.entries(stats.byStatus)) terminal.print(line(status, count));
  if (stats.oldestReadyAgeSeconds !== null)
    terminal.print(line("oldest ready", formatDuration(1_000 * stats.oldestReadyAgeSeconds)));
  terminal.print(line("cost", `$${(stats.costMicros / 1_000_000).toFixed(4)}`));
}

const OPEN = STATUSES.filter((status) => status !== "done" && status !== "archived");

async function listAssignees(open: OpenBoardContext, { json }: JsonOption): Promise<void> {
  const { terminal } = open.context;
  const { "": unassigned = {}, ...byAssignee } = await open.store.countByAssignee(open.signal);
  const profiles = await profileNames(open);
  const names = [...new Set([...profiles, ...Object.keys(byAssignee)])].toSorted();
  const rows = names.map((name) => {
    return { name, on_disk: profiles.includes(name), counts: byAssignee[name] ?? {} };
  });
  if (json) return terminal.printJson(rows);
  const cells = rows.map(({ name, on_disk, counts }) => [
    name,
    on_disk ? "profile" : "lane",
    ...OPEN.map((status) => String(counts[status] ?? "")),
  ]);
  terminal.print(
    renderTable(["NAME", "KIND", ...OPEN.map((status) => status.toUpperCase())], cells, terminal),
  );
  const left = OPEN.reduce((sum, status) => sum + (unassigned[status] ?? 0), 0);
  if (left > 0) terminal.note(`${left} open tasks are unassigned.`);
}

/** The text of each finding and the commands that may help; N stands for the task's number. */
const FINDING_TEXTS: Readonly<
  Record<Diagnostic["kind"], readonly [text: (count: number, since: string) => string, ...actions: string[]]>
> = {
  ghost_running: [(_, since) => `it is running, but its lease expired at ${since}`, "release N"],
  repeated_failures: [(count) => `${count} failures in a row`, "show N", "retry N --fresh"],
  repeated_crashes: [(count) => `${count} of its runs failed`, "log N", "retry N --fresh"],
  stuck_in_blocked: [(_, since) => `blocked since ${since}, and not answered`, "answer N TEXT"],
  task_storm: [
    (count, since) => `its workers and their workers have created ${count} tasks since ${since}`,
    ...["show N", "hold N", "archive N"],
  ],
  stranded_in_ready: [(_, since) => `ready since ${since}, but not claimed`, "why N"],
};

async function diagnose(
  open: OpenBoardContext,
  { severity = "warning", task, json }: JsonOption & { severity?: Severity; task?: string },
): Promise<void> {
  const { store, signal, app, context } = open;
  const options = app.resolved.config.kanban.diagnostics;
  const rules = {
    failureThreshold: options.failure_threshold,
    crashThreshold: options.crash_threshold,
    blockedStaleHours: options.blocked_stale_hours,
    strandedThresholdSeconds: options.stranded_threshold_seconds,
    stormTasksPerHour: options.storm_tasks_per_hour,
  };
  const only = task === undefined ? undefined : (await showTask(open, task)).task.id;
  const found = await store.diagnose(rules, only, signal);
  const stranded = found.filter(({ kind }) => kind === "stranded_in_ready").map(({ taskId }) => taskId);
  using dispatch = await openDispatch(open, signal);
  const stuck = await findStuckTasks(dispatch, signal);
  const waiting = new Map<string, Explanation>();
  for (const id of stranded.slice(0, EXPLAINED)) waiting.set(id, await explainTask(dispatch, id, signal));
  // A stranded task is listed once, with the reason why it is stuck.
  const others = stuck.filter(({ task_id: id }) => !stranded.includes(id));
  const shown = await Promise.all(others.map(({ task_id: id }) => store.show(id, signal)));
  const findings = [
    ...others.map((why, index) => describeStuck(why, shown[index]?.task)),
    ...found.map((one) =>
      explained(one, one.kind === "stranded_in_ready" ? waiting.get(one.taskId) : undefined),
    ),
  ].filter(
    (one) =>
      SEVERITIES.indexOf(one.severity) >= SEVERITIES.indexOf(severity) &&
      (only === undefined || one.task_id === only),
  );
  if (json) return context.terminal.printJson(findings);
  if (findings.length === 0) return context.terminal.print("No problems found.");
  for (const one of findings) context.terminal.print(findingLines(one, context.terminal).join("\n"));
  const left = new Map(
    found.map(({ kind, total }) => [kind, total - found.filter((one) => one.kind === kind).length]),
  );
  for (const [kind, count] of left)
    if (count > 0) context.terminal.note(`${count} more tasks have the finding ${kind}.`);
}

/** How many waiting tasks are explained; each one needs its own queries. */
const EXPLAINED = 20;

const INDENT = "  ";
const MAX_LINES = 20;

function findingLines(
  { severity, seq, title, detail, actions }: Finding,
  { columns, colours }: Terminal,
): readonly string[] {
  const width = (columns ?? Number.POSITIVE_INFINITY) - INDENT.length;
  return [
    `${colours.bold(`#${seq} ${escapeControls(title)}`)} (${severity})`,
    ...wrapText(detail, width, MAX_LINES).map((line) => `${INDENT}${line}`),
    ...actions.filter((action) => action !== "").map((action) => `${INDENT}→ ${escapeControls(action)}`),
  ];
}

type Finding = ReturnType<typeof explained>;

/** The finding for a task that cannot start until a user changes something. */
function describeStuck({ task_id, reason: kind, text, release }: Explanation, task: Task | undefined) {
  const { title = "", seq = 0, updated_at: since = 0 } = task ?? {};
  const severity: Severity = kind === "nonspawnable" ? "warning" : "error";
  const detail = escapeControls(text);
  return { kind, severity, task_id, seq, title, detail, count: 1, since, actions: [release] };
}

function explained(found: Diagnostic, why?: Explanation) {
  const { kind, severity, taskId: task_id, seq, title, count, since } = found;
  const [describe, ...verbs] = FINDING_TEXTS[kind];
  const reason = why === undefined ? "" : `: ${escapeControls(why.text)}`;
  const detail = `${describe(count, formatTime(since))}${reason}`;
  const commands = verbs.map((words) => `hermes kanban ${words.replace("N", String(seq))}`);
  const actions = why === undefined ? commands : [why.release];
  return { kind: kind as string, severity, task_id, seq, title, detail, count, since, actions };
}
