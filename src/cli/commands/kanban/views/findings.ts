import { Option } from "commander";
import { type BoardFinding, findBoardProblems, SEVERITIES } from "../../../../app/board-findings.ts";
import { STATUSES } from "../../../../board/transitions.ts";
import { formatCount } from "../../../../lib/text/format-count.ts";
import { formatDuration } from "../../../../lib/time/format-time.ts";
import type { AddVerb } from "../../../define-command.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapText } from "../../../terminal/fit-text.ts";
import { renderTable } from "../../../terminal/table.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, showTask } from "../kanban-context.ts";
import { onBoard, profileNames } from "../verb.ts";

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
  if (left > 0) terminal.note(`${formatCount(left, "open task is", "open tasks are")} unassigned.`);
}

async function diagnose(
  open: OpenBoardContext,
  { severity = "warning", task, json }: JsonOption & { severity?: BoardFinding["severity"]; task?: string },
): Promise<void> {
  const { signal, context } = open;
  const only = task === undefined ? undefined : (await showTask(open, task)).task.id;
  const found = await findBoardProblems(open, only, signal);
  const findings = found.findings
    .filter((one) => SEVERITIES.indexOf(one.severity) >= SEVERITIES.indexOf(severity))
    .map((one) => ({ ...one, detail: escapeControls(one.detail) }));
  if (json) return context.terminal.printJson(findings);
  if (findings.length === 0) return context.terminal.print("No problems found.");
  for (const one of findings) context.terminal.print(findingLines(one, context.terminal).join("\n"));
  for (const [kind, count] of found.left)
    if (count > 0) context.terminal.note(`${count} more tasks have the finding ${kind}.`);
}

const INDENT = "  ";
const MAX_LINES = 20;

function findingLines(
  { severity, seq, title, detail, actions }: BoardFinding,
  { columns, colours }: Terminal,
): readonly string[] {
  const width = (columns ?? Number.POSITIVE_INFINITY) - INDENT.length;
  return [
    `${colours.bold(`#${seq} ${escapeControls(title)}`)} (${severity})`,
    ...wrapText(detail, width, MAX_LINES).map((line) => `${INDENT}${line}`),
    ...actions.filter((action) => action !== "").map((action) => `${INDENT}→ ${escapeControls(action)}`),
  ];
}
