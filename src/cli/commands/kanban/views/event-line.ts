import { describeEvent, type TaskNames } from "../../../../board/operations/views/describe-event.ts";
import type { TaskName } from "../../../../board/operations/views/list-details.ts";
import type { BoardEvent, RunOutcome } from "../../../../board/task.ts";
import { formatClock, formatTime } from "../../../../lib/time/format-time.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText } from "../../../terminal/fit-text.ts";

const OUTCOMES: Readonly<Record<RunOutcome, string>> = {
  completed: "completed",
  blocked: "blocked",
  scheduled: "scheduled",
  review_requested: "review requested",
  changes_requested: "changes requested",
  released: "released",
  reclaimed: "reclaimed",
  crashed: "failed",
  timed_out: "ran out of time",
  spawn_failed: "could not start",
  protocol_violation: "ended without a result",
  budget_exhausted: "used up its budget",
  rate_limited: "hit a rate limit",
  infra_killed: "killed from outside",
  stale: "stopped responding",
  gave_up: "failed too often",
};

export function formatOutcome(outcome: RunOutcome | null): string {
  return outcome === null ? "running" : OUTCOMES[outcome];
}

const TITLE_WIDTH = 40;

/**
 * Formats an event as a sentence with its time and, with `withTask`, its task; undefined for internal events. The day is
 * added to the time of an event that is not of today, and to all with `withDay`.
 */
export function formatEvent(
  event: BoardEvent,
  names: TaskNames,
  { withTask, withDay = !isToday(event) }: { readonly withTask: boolean; readonly withDay?: boolean },
): string | undefined {
  const sentence = describeEvent(event, names, briefName);
  if (sentence === undefined) return undefined;
  const id = withTask ? event.task_id : null;
  const name = id === null ? undefined : names.get(id);
  const subject = id === null ? "" : `${name === undefined ? id : briefName(name)}: `;
  const time = withDay ? formatTime(event.created_at) : formatClock(event.created_at);
  return escapeControls(`${time}  ${subject}${sentence}`);
}

export function isToday({ created_at }: Pick<BoardEvent, "created_at">): boolean {
  return new Date(created_at).toDateString() === new Date().toDateString();
}

export function briefName({ seq, title }: Pick<TaskName, "seq" | "title">): string {
  return `#${seq} ${cutText(title, TITLE_WIDTH)}`;
}

/** Like `briefName`, with control characters escaped, because titles are untrusted text. */
export function escapedName(task: Pick<TaskName, "seq" | "title">): string {
  return escapeControls(briefName(task));
}
