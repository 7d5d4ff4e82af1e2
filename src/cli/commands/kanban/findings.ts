import { type Command, Option } from "commander";
import type { Why } from "../../../board/dispatcher/why.ts";
import type { Diagnostic } from "../../../board/operations/diagnose.ts";
import type { Task } from "../../../board/task.ts";
import { STATUSES } from "../../../board/transitions.ts";
import { formatTime as moment, spanWords } from "../../../lib/format-time.ts";
import { withExamples } from "../../define-command.ts";
import { escapeControls } from "../../escape-controls.ts";
import { wrapText } from "../../fit-text.ts";
import { renderTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "./desk.ts";
import { profileNames } from "./lane.ts";

const SEVERITIES = ["warning", "error", "critical"] as const;
type Severity = (typeof SEVERITIES)[number];

/** The verbs that look at the board as a whole. */
export function addFindings(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("stats", "Count the tasks of the board.").action((options: JsonOption) => showStats(desk, options)),
    ["hermes kanban stats --json"],
  );
  withExamples(
    add("assignees", "List who has tasks and who could have.").action((options: JsonOption) =>
      listAssignees(desk, options),
    ),
    ["hermes kanban assignees"],
  );
  withExamples(
    add("diagnostics", "Say what looks wrong with open tasks, and what to do.")
      .alias("diag")
      .addOption(new Option("--severity <level>", "only this one and worse").choices(SEVERITIES))
      .option("--task <task>", "only of this task")
      .action((options: JsonOption & { severity?: Severity; task?: string }) => diagnose(desk, options)),
    ["hermes kanban diagnostics", "hermes kanban diagnostics --severity error --json"],
  );
}

async function showStats(desk: Desk, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async ({ store, signal, context: { terminal } }) => {
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
      terminal.print(line("oldest ready", spanWords(1_000 * stats.oldestReadyAgeSeconds)));
    terminal.print(line("cost", `$${(stats.costMicros / 1_000_000).toFixed(4)}`));
  });
}

const OPEN = STATUSES.filter((status) => status !== "done" && status !== "archived");

async function listAssignees(desk: Desk, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const { terminal } = open.context;
    const { "": nobody = {}, ...byAssignee } = await open.store.countByAssignee(open.signal);
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
      renderTable(["NAME", "IS A", ...OPEN.map((status) => status.toUpperCase())], cells, terminal),
    );
    const left = OPEN.reduce((sum, status) => sum + (nobody[status] ?? 0), 0);
    if (left > 0) terminal.note(`${left} open tasks are for nobody.`);
  });
}

/** What a finding means, and the commands that may help, with N for the number of the task. */
const ADVICE: Readonly<
  Record<Diagnostic["kind"], { says: (count: number, since: string) => string; actions: readonly string[] }>
> = {
  ghost_running: {
    says: (_, since) => `it runs, but nobody has looked after it since ${since}`,
    actions: ["release N"],
  },
  repeated_failures: {
    says: (count) => `${count} failures in a row`,
    actions: ["show N", "retry N --fresh"],
  },
  repeated_crashes: { says: (count) => `${count} of its runs failed`, actions: ["log N", "retry N --fresh"] },
  stuck_in_blocked: {
    says: (_, since) => `blocked since ${since}, and nobody answered`,
    actions: ["answer N TEXT"],
  },
  task_storm: {
    says: (count, since) => `its workers and theirs have made ${count} tasks since ${since}`,
    actions: ["show N", "hold N", "archive N"],
  },
  stranded_in_ready: {
    says: (_, since) => `ready since ${since}, nobody took it`,
    actions: ["why N"],
  },
};

async function diagnose(
  desk: Desk,
  { severity = "warning", task, json }: JsonOption & { severity?: Severity; task?: string },
): Promise<void> {
  await atBoard(desk, async (open) => {
    const { store, signal, app, context } = open;
    const options = app.resolved.config.kanban.diagnostics;
    const rules = {
      failureThreshold: options.failure_threshold,
      crashThreshold: options.crash_threshold,
      blockedStaleHours: options.blocked_stale_hours,
      strandedThresholdSeconds: options.stranded_threshold_seconds,
      stormTasksPerHour: options.storm_tasks_per_hour,
    };
    const only =
      task === undefined
        ? undefined
        : (await withTasks(open, [task], (id) => store.show(id, signal))).task.id;
    const found = await store.diagnose(rules, only, signal);
    const stranded = found.filter(({ kind }) => kind === "stranded_in_ready").map(({ taskId }) => taskId);
    const { loadHindrances } = await import("./dispatch/hindrances.ts");
    const { hindered, waiting } = await loadHindrances(open, stranded.slice(0, EXPLAINED));
    // One that is stranded already is told of as such, with the reason.
    const others = hindered.filter(({ task_id: id }) => !stranded.includes(id));
    const shown = await Promise.all(others.map(({ task_id: id }) => store.show(id, signal)));
    const findings = [
      ...others.map((why, index) => hindrance(why, shown[index]?.task)),
      ...found.map((one) =>
        explained(one, one.kind === "stranded_in_ready" ? waiting.get(one.taskId) : undefined),
      ),
    ].filter(
      (one) =>
        SEVERITIES.indexOf(one.severity) >= SEVERITIES.indexOf(severity) &&
        (only === undefined || one.task_id === only),
    );
    if (json) return context.terminal.printJson(findings);
    if (findings.length === 0) return context.terminal.print("Nothing looks wrong.");
    for (const one of findings) context.terminal.print(findingLines(one, context.terminal).join("\n"));
    const left = new Map(
      found.map(({ kind, total }) => [kind, total - found.filter((one) => one.kind === kind).length]),
    );
    for (const [kind, count] of left)
      if (count > 0) context.terminal.note(`${count} more tasks have the finding ${kind}.`);
  });
}

/** How many tasks that wait are explained: each is looked at by itself. */
const EXPLAINED = 20;

const INDENT = "  ";
const MOST_LINES = 20;

/** What is wrong with a task, and below it what to do. */
function findingLines(
  { severity, seq, title, detail, actions }: Finding,
  { columns, colours }: Terminal,
): readonly string[] {
  const width = (columns ?? Number.POSITIVE_INFINITY) - INDENT.length;
  return [
    `${colours.bold(`#${seq} ${escapeControls(title)}`)} (${severity})`,
    ...wrapText(detail, width, MOST_LINES).map((line) => `${INDENT}${line}`),
    ...actions.filter((action) => action !== "").map((action) => `${INDENT}→ ${escapeControls(action)}`),
  ];
}

type Finding = ReturnType<typeof explained>;

/** A task that does not go on before someone changes something. */
function hindrance({ task_id, reason, text, release }: Why, task: Task | undefined) {
  const { title = "", seq = 0, updated_at: since = 0 } = task ?? {};
  const severity: Severity = reason === "nonspawnable" ? "warning" : "error";
  return {
    kind: reason,
    severity,
    task_id,
    seq,
    title,
    detail: escapeControls(text),
    count: 1,
    since,
    actions: [release],
  };
}

function explained({ kind, severity, taskId, seq, title, count, since }: Diagnostic, why?: Why) {
  const { says, actions } = ADVICE[kind];
  return {
    kind: kind as string,
    severity,
    task_id: taskId,
    seq,
    title,
    detail: `${says(count, moment(since))}${why === undefined ? "" : `: ${escapeControls(why.text)}`}`,
    count,
    since,
    actions:
      why === undefined
        ? actions.map((words) => `hermes kanban ${words.replace("N", String(seq))}`)
        : [why.release],
  };
}
