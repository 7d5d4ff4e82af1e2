import { briefError } from "../../../../board/brief-error.ts";
import { GUARD_WORDS } from "../../../../board/dispatcher/reasons/guards.ts";
import type { ListDetails } from "../../../../board/operations/views/list-details.ts";
import type { Task } from "../../../../board/task.ts";
import { formatTime, isSameDay } from "../../../../lib/time/format-time.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText, textWidth } from "../../../terminal/fit-text.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import { reachedLimit, type StartLimits } from "./start-limits.ts";

const GAP = 2;
const WIDEST_NAME = 12;
/** The share of the remaining width that the reasons may take. */
const SHARE_OF_REASON = 0.45;

const WIDEST_IN_PIPE = 60;

/**
 * Renders one line per task. In a terminal, title and reason are cut to fit. In a pipe nothing is cut, the id comes
 * first, and one long title does not shift the reasons of the other tasks.
 */
export function renderTaskLines(
  tasks: readonly Task[],
  details: ListDetails,
  limits: StartLimits,
  { columns, colours }: Pick<Terminal, "columns" | "colours">,
  now = Date.now(),
): string {
  const header = ["#", "STATUS", "AGE", "FOR", "TITLE", "WHY"];
  const rows = tasks.map((task) => [
    `#${task.seq}`,
    task.hold ? `${task.status}*` : task.status,
    ageOf(now - task.created_at),
    task.assignee ?? "-",
    oneLine(task.title),
    reasonOf(task, details, limits, now),
  ]);
  const ids = columns === undefined ? ["ID", ...tasks.map(({ id }) => id)] : [];
  const table = [header, ...rows];
  const widest = (column: number): number => Math.max(...table.map((row) => textWidth(row[column] ?? "")));
  const widths = header.map((_, column) => widest(column));
  if (columns === undefined) widths[4] = Math.min(widths[4] ?? 0, WIDEST_IN_PIPE);
  if (columns !== undefined) {
    widths[3] = Math.min(widths[3] ?? 0, WIDEST_NAME);
    const narrow = widths.slice(0, 4).reduce((sum, width) => sum + width + GAP, 0);
    const left = Math.max(20, columns - narrow - GAP);
    const [title = 0, reason = 0] = widths.slice(4);
    const forReason = Math.min(reason, Math.max(Math.floor(left * SHARE_OF_REASON), left - title));
    widths[5] = forReason;
    widths[4] = Math.min(title, left - forReason);
  }
  const lines = table.map((row, index) => {
    const cells = row.map((cell, column) => {
      const cut = columns === undefined ? cell : cutText(cell, widths[column] ?? 0);
      const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - textWidth(cut)));
      return column === 0 || column === 2 ? space + cut : cut + space;
    });
    return [...(ids.length === 0 ? [] : [(ids[index] ?? "").padEnd(14)]), ...cells]
      .join(" ".repeat(GAP))
      .trimEnd();
  });
  return [colours.bold(lines[0] ?? ""), ...lines.slice(1)].join("\n");
}

/** A short reason for the status of a task; empty if the status is enough. */
function reasonOf(
  task: Task,
  { waitsFor, blockReasons, guarded, runningSince, running }: ListDetails,
  limits: StartLimits,
  now: number,
): string {
  const { id, status } = task;
  if (task.hold && status !== "done" && status !== "archived") return "held";
  const parents = (waitsFor.get(id) ?? []).map((seq) => `#${seq}`);
  const question = oneLine(blockReasons.get(id) ?? briefError(task.last_failure_error ?? ""));
  if (status === "running") return `for ${ageOf(now - (runningSince.get(id) ?? now))}`;
  if (status === "review") return `by ${task.reviewer ?? "a reviewer"}`;
  if (status === "triage") return task.triage_reason === "block_loop" ? question : "to be specified";
  if (status === "scheduled")
    return task.scheduled_at === null ? "" : `until ${briefTime(task.scheduled_at, now)}`;
  if (status === "blocked") return question;
  if (status === "todo") return parents.length === 0 ? "" : `after ${parents.join(" ")}`;
  if (status === "ready") {
    const guard = guarded.get(id);
    if (guard?.until === null)
      return guard.waitsForTask === 0
        ? "waits for its branch"
        : `waits for its branch, which #${guard.waitsForTask} uses`;
    if (guard?.reason === "backoff") return describeRetry(guard.until, now);
    if (guard !== undefined)
      return `until ${briefTime(guard.until, now)}: ${GUARD_WORDS[guard.reason as keyof typeof GUARD_WORDS] ?? ""}`;
    if (task.not_before !== null && task.not_before > now) return describeRetry(task.not_before, now);
    return task.assignee === null ? "unassigned" : reachedLimit(task.assignee, limits, running);
  }
  return oneLine(task.result ?? "");
}

/** When a task is retried: the time left if it is less than an hour. */
function describeRetry(time: number, now: number): string {
  return time - now < 3_600_000 ? `retry in ${ageOf(time - now)}` : `retry at ${briefTime(time, now)}`;
}

/** The time of day if it is today; with the date if it is less than a day away, else the date alone. */
function briefTime(time: number, now: number): string {
  const [day = "", clock = ""] = formatTime(time).split(" ");
  if (isSameDay(time, now)) return clock;
  return time - now < 86_400_000 ? `${day} ${clock}` : day;
}

function oneLine(text: string): string {
  return escapeControls(text).replaceAll(/\s+/g, " ").trim();
}

const UNITS: readonly (readonly [string, number])[] = [
  ["y", 31_536_000],
  ["mo", 2_592_000],
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];

/** A time span in its largest unit, such as `3h`. */
export function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [unit, size] = UNITS.find(([, one]) => seconds >= one) ?? ["s", 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
