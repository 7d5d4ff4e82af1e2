import { authorOf } from "../../../../board/caller.ts";
import { DISPATCHER } from "../../../../board/dispatcher/dispatch-board.ts";
import type { TaskName } from "../../../../board/operations/views/list-details.ts";
import type { BoardEvent, RunOutcome } from "../../../../board/task.ts";
import { formatClock, formatNear, formatTime } from "../../../../lib/time/format-time.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { cutText } from "../../../terminal/fit-text.ts";
import { GUARD_REASONS } from "./task-lines.ts";

type Names = ReadonlyMap<string, TaskName>;
type Sentence = (
  event: BoardEvent,
  facts: { text(key: string): string; nameOf(key: string): string },
) => string;

/** The text of each kind of event, after the name of the task. Internal kinds have an empty text and are not shown. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  created: ({ actor }, { text }) => `created by ${actor}${after(" for ", text("assignee"))}`,
  claimed: ({ actor, run_id }, { text }) => {
    const by = actor === authorOf(DISPATCHER) ? text("profile") || actor : actor; // a person may claim the task of a profile
    return `started by ${by} (run ${run_id})`;
  },
  spawned: () => "",
  heartbeat: (_, { text }) => `worker note: ${text("note")}`,
  // The reason of a move is printed with the move.
  commented: ({ actor, payload }) => (payload["is_reason"] === true ? "" : `${actor} commented`),
  worker_ended: () => "",
  attached: ({ actor }, { text }) => `${actor} attached ${text("filename")}`,
  attachment_removed: ({ actor }, { text }) => `${actor} removed the file ${text("filename")}`,
  assigned: ({ actor }, { text }) =>
    text("assignee") === "" ? `unassigned by ${actor}` : `assigned to ${text("assignee")} by ${actor}`,
  edited: ({ actor, payload }) =>
    `${actor} changed its ${(payload["fields"] as string[] | undefined)?.map(fieldWords).join(", ") ?? "text"}`,
  linked: (_, { nameOf }) => `now waits for ${nameOf("parent")}`,
  unlinked: (_, { nameOf }) => `no longer waits for ${nameOf("parent")}`,
  dependency_wait: (_, { text, nameOf }) =>
    text("parent") === ""
      ? `waits for another task${after(": ", text("reason"))}`
      : `waits for ${nameOf("parent")}`,
  completed: ({ actor }, { text }) => `done by ${actor}${after(": ", text("summary"))}`,
  blocked: ({ actor }, { text }) => `blocked by ${actor}: ${text("reason")}`,
  block_loop_detected: (_, { text }) => `asked again without an answer; moved to triage: ${text("reason")}`,
  unblocked: ({ actor }, { text }) => `unblocked by ${actor}${after(": ", text("reason"))}`,
  unguarded: ({ actor }) => `${actor} allowed it to start now`,
  fresh_start: ({ actor }) => `${actor} requested a new session for the next run`,
  scheduled: ({ payload }, { text }) =>
    `waits until ${formatTime(Number(payload["scheduled_at"]))}${after(": ", text("reason"))}`,
  promoted: ({ to_status }) => `is ${to_status}`,
  promoted_manual: ({ actor }) => `made ready by ${actor}`,
  specified: ({ actor }) => `specified by ${actor}`,
  decomposed: ({ actor }) => `split by ${actor}`,
  held: ({ actor }) => `held by ${actor}`,
  let_go: ({ actor }) => `hold removed by ${actor}`,
  review_requested: (_, { text }) => `waits for review by ${text("reviewer")}${after(": ", text("summary"))}`,
  changes_requested: ({ actor }, { text }) => `${actor} requested changes: ${text("reason")}`,
  review_reopened: ({ actor }) => `${actor} withdrew it from review`,
  status: ({ actor, to_status }) => `reopened by ${actor}; it is ${to_status}`,
  descendant_invalidated: (_, { nameOf }) => `waits again, because ${nameOf("ancestor")} was reopened`,
  archived: ({ actor }) => `archived by ${actor}`,
  reclaimed: ({ to_status }, { text }) => `reclaimed${after(" (", text("reason"), ")")}; it is ${to_status}`,
  reclaim_deferred: (_, { text }) => `not reclaimed yet: ${text("reason")}`,
  reconciled: ({ to_status }) => `reconciled; it is ${to_status}`,
  crashed: (_, { text }) => `its worker failed${after(": ", text("error"))}`,
  timed_out: (_, { text }) => `its worker ran out of time${after(": ", text("error"))}`,
  spawn_failed: (_, { text }) => `could not be started${after(": ", text("error"))}`,
  protocol_violation: (_, { text }) => `its worker ended without a result${after(": ", text("error"))}`,
  budget_exhausted: (_, { text }) => `its worker used up its budget${after(": ", text("error"))}`,
  rate_limited: (_, { text }) => `hit a rate limit of its provider${after(": ", text("error"))}`,
  infra_killed: (_, { text }) => `its worker was killed from outside${after(": ", text("error"))}`,
  stale: () => "its worker stopped responding",
  gave_up: ({ payload }) =>
    `gave up after ${String(payload["failures"] ?? "several")} failures; it is blocked`,
  respawn_guarded: ({ payload, created_at }, { text }) => {
    const reason = text("reason");
    if (reason === "worker_leaving") return ""; // lasts only seconds
    if (reason === "branch_busy") return "waits for its branch, which is checked out elsewhere";
    const until =
      typeof payload["until"] === "number" ? ` until ${formatNear(payload["until"], created_at)}` : "";
    return `waits${until}: ${GUARD_REASONS[reason as keyof typeof GUARD_REASONS] ?? "it is not retried yet"}`;
  },
  skipped_nonspawnable: (_, { text }) => `cannot be started${after(": ", text("reason"))}`,
  workspace_discarded_content: ({ payload }) =>
    `${String(payload["file_count"])} undeclared files of its workspace were moved aside`,
  purged: ({ actor }, { text }) => `${actor} deleted ${text("title")}`,
  board_paused: ({ actor }) => `${actor} paused the board`,
  board_resumed: ({ actor }) => `${actor} resumed the board`,
  board_described: ({ actor }) => `${actor} changed the details of the board`,
  profile_renamed: (_, { text }) => `the profile ${text("from")} is now called ${text("to")}`,
  counters_repaired: ({ actor }) => `${actor} repaired counters`,
};

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

function fieldWords(field: string): string {
  return field.replace(/_override$/, "").replaceAll("_", " ");
}

const LENGTH = 200;
const TITLE_WIDTH = 40;

/**
 * Formats an event as a sentence with its time and, with `withTask`, its task; undefined for internal events. The day is
 * added to the time of an event that is not of today, and to all with `withDay`.
 */
export function formatEvent(
  event: BoardEvent,
  names: Names,
  { withTask, withDay = !isToday(event) }: { readonly withTask: boolean; readonly withDay?: boolean },
): string | undefined {
  const text = (key: string): string => {
    const value = event.payload[key];
    return typeof value === "string" ? shortened(value.trim().split("\n", 1)[0] ?? "") : "";
  };
  const nameOf = (key: string): string => taskNameOf(names, text(key));
  const format = SENTENCES[event.kind];
  const sentence =
    format === undefined
      ? `${event.kind.replaceAll("_", " ")} by ${event.actor}`
      : format(event, { text, nameOf });
  if (sentence === "") return undefined;
  const subject = withTask && event.task_id !== null ? `${taskNameOf(names, event.task_id)}: ` : "";
  const time = withDay ? formatTime(event.created_at) : formatClock(event.created_at);
  return escapeControls(`${time}  ${subject}${sentence}`);
}

export function isToday({ created_at }: Pick<BoardEvent, "created_at">): boolean {
  return new Date(created_at).toDateString() === new Date().toDateString();
}

/** The ids of all tasks that the sentence names. */
export function tasksIn({ task_id, payload }: BoardEvent): readonly string[] {
  return [task_id, payload["parent"], payload["ancestor"]].filter((id) => typeof id === "string");
}

function taskNameOf(names: Names, id: string): string {
  const name = names.get(id);
  return name === undefined ? id : briefName(name);
}

export function briefName({ seq, title }: Pick<TaskName, "seq" | "title">): string {
  return `#${seq} ${cutText(title, TITLE_WIDTH)}`;
}

/** Like `briefName`, with control characters escaped, because titles are untrusted text. */
export function escapedName(task: Pick<TaskName, "seq" | "title">): string {
  return escapeControls(briefName(task));
}

function after(prefix: string, text: string, suffix = ""): string {
  return text === "" ? "" : `${prefix}${text}${suffix}`;
}

function shortened(text: string): string {
  return cutText(text.replaceAll(/\s+/g, " ").trim(), LENGTH);
}
