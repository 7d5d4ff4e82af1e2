import { type Explanation, explainTask } from "../board/dispatcher/reasons/explain-task.ts";
import { findStuckTasks } from "../board/dispatcher/reasons/find-stuck-tasks.ts";
import type { Diagnostic } from "../board/operations/boards/diagnose.ts";
import type { Task } from "../board/task.ts";
import { formatTime } from "../lib/time/format-time.ts";
import type { BoardOfApp } from "./board.ts";
import { openDispatch } from "./dispatch.ts";

export const SEVERITIES = ["warning", "error", "critical"] as const;
type Severity = (typeof SEVERITIES)[number];

/** A problem of a task, as text for a user. It may contain control characters, because the texts of tasks are untrusted. */
export interface BoardFinding {
  readonly kind: string;
  readonly severity: Severity;
  readonly task_id: string;
  readonly seq: number;
  readonly title: string;
  readonly detail: string;
  readonly count: number;
  readonly since: number;
  /** Commands that may help. */
  readonly actions: readonly string[];
}

export interface BoardFindings {
  readonly findings: readonly BoardFinding[];
  /** For each kind of finding, how many more tasks have it than are listed. */
  readonly left: ReadonlyMap<string, number>;
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

/** The maximum number of waiting tasks to explain; each one needs its own queries. */
const EXPLAINED = 20;

/** Finds the problems of a board's open tasks, or of one task, and why each task is stuck. */
export async function findBoardProblems(
  open: BoardOfApp,
  only: string | undefined,
  signal: AbortSignal,
): Promise<BoardFindings> {
  const { store, app } = open;
  const options = app.resolved.config.kanban.diagnostics;
  const rules = {
    failureThreshold: options.failure_threshold,
    crashThreshold: options.crash_threshold,
    blockedStaleHours: options.blocked_stale_hours,
    strandedThresholdSeconds: options.stranded_threshold_seconds,
    stormTasksPerHour: options.storm_tasks_per_hour,
  };
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
  ].filter((one) => only === undefined || one.task_id === only);
  const left = new Map(
    found.map(({ kind, total }) => [kind, total - found.filter((one) => one.kind === kind).length]),
  );
  return { findings, left };
}

/** The finding for a task that cannot start until a user changes something. */
function describeStuck(
  { task_id, reason: kind, text, release }: Explanation,
  task: Task | undefined,
): BoardFinding {
  const { title = "", seq = 0, updated_at: since = 0 } = task ?? {};
  const severity: Severity = kind === "nonspawnable" ? "warning" : "error";
  return { kind, severity, task_id, seq, title, detail: text, count: 1, since, actions: [release] };
}

function explained(found: Diagnostic, why?: Explanation): BoardFinding {
  const { kind, severity, taskId: task_id, seq, title, count, since } = found;
  const [describe, ...verbs] = FINDING_TEXTS[kind];
  const reason = why === undefined ? "" : `: ${why.text}`;
  const detail = `${describe(count, formatTime(since))}${reason}`;
  const commands = verbs.map((words) => `hermes kanban ${words.replace("N", String(seq))}`);
  return {
    kind,
    severity,
    task_id,
    seq,
    title,
    detail,
    count,
    since,
    actions: why ? [why.release] : commands,
  };
}
