import type { TaskName } from "../../../board/operations/glance.ts";
import type { BoardEvent, RunOutcome } from "../../../board/task.ts";
import { formatTime } from "../../../lib/format-time.ts";
import { escapeControls } from "../../escape-controls.ts";
import { cutText } from "../../fit-text.ts";
import { BRIEFLY } from "./task-lines.ts";

type Names = ReadonlyMap<string, TaskName>;
type Tell = (event: BoardEvent, facts: { text(key: string): string; nameOf(key: string): string }) => string;

/** What happened, behind the name of the task. Kinds that only our own processes need have an empty sentence. */
const SENTENCES: Readonly<Record<string, Tell>> = {
  created: ({ actor }, { text }) => `created by ${actor}${after(" for ", text("assignee"))}`,
  claimed: ({ actor, run_id }, { text }) =>
    `started${after(" by ", text("profile") || actor)} (run ${run_id})`,
  spawned: () => "",
  heartbeat: (_, { text }) => `the worker says: ${text("note")}`,
  // The reason of a move is told with the move.
  commented: ({ actor, payload }) => (payload["is_reason"] === true ? "" : `${actor} commented`),
  worker_ended: () => "",
  attached: ({ actor }, { text }) => `${actor} attached ${text("filename")}`,
  attachment_removed: ({ actor }, { text }) => `${actor} removed the file ${text("filename")}`,
  assigned: ({ actor }, { text }) => `${actor} gave it to ${text("assignee") || "nobody"}`,
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
  block_loop_detected: (_, { text }) => `asks again without an answer and is in triage: ${text("reason")}`,
  unblocked: ({ actor }, { text }) => `unblocked by ${actor}${after(": ", text("reason"))}`,
  unguarded: ({ actor }) => `${actor} lets it start at once`,
  fresh_start: ({ actor }) => `${actor} wants a new session for the next run`,
  scheduled: ({ payload }, { text }) =>
    `waits until ${formatTime(Number(payload["scheduled_at"]))}${after(": ", text("reason"))}`,
  promoted: ({ to_status }) => `is ${to_status}`,
  promoted_manual: ({ actor }) => `made ready by ${actor}`,
  specified: ({ actor }) => `written out by ${actor}`,
  decomposed: ({ actor }) => `split by ${actor}`,
  held: ({ actor }) => `held by ${actor}`,
  let_go: ({ actor }) => `let go by ${actor}`,
  review_requested: (_, { text }) => `waits for review by ${text("reviewer")}${after(": ", text("summary"))}`,
  changes_requested: ({ actor }, { text }) => `${actor} wants changes: ${text("reason")}`,
  review_reopened: ({ actor }) => `${actor} took it out of review`,
  status: ({ actor, to_status }) => `reopened by ${actor}; it is ${to_status}`,
  descendant_invalidated: (_, { nameOf }) => `waits again, because ${nameOf("ancestor")} was reopened`,
  archived: ({ actor }) => `archived by ${actor}`,
  reclaimed: ({ to_status }, { text }) => `taken back${after(" (", text("reason"), ")")}; it is ${to_status}`,
  reclaim_deferred: (_, { text }) => `is not taken back yet: ${text("reason")}`,
  reconciled: ({ to_status }) => `put in order; it is ${to_status}`,
  crashed: (_, { text }) => `its worker failed${after(": ", text("error"))}`,
  timed_out: (_, { text }) => `its worker ran out of time${after(": ", text("error"))}`,
  spawn_failed: (_, { text }) => `could not be started${after(": ", text("error"))}`,
  protocol_violation: (_, { text }) => `its worker ended without a result${after(": ", text("error"))}`,
  budget_exhausted: (_, { text }) => `its worker used up its budget${after(": ", text("error"))}`,
  rate_limited: (_, { text }) => `met a limit of its provider${after(": ", text("error"))}`,
  infra_killed: (_, { text }) => `its worker was ended from outside${after(": ", text("error"))}`,
  stale: () => "its worker fell silent",
  gave_up: ({ payload }) =>
    `given up after ${String(payload["failures"] ?? "several")} failures; it is blocked`,
  respawn_guarded: ({ payload }, { text }) => {
    const reason = text("reason");
    if (reason === "worker_leaving") return ""; // a matter of seconds
    if (reason === "branch_busy") return "waits for its branch, which is checked out somewhere else";
    const until = typeof payload["until"] === "number" ? ` until ${formatTime(payload["until"])}` : "";
    return `waits${until}: ${BRIEFLY[reason as keyof typeof BRIEFLY] ?? "it is not tried again yet"}`;
  },
  skipped_nonspawnable: (_, { text }) => `cannot be started${after(": ", text("reason"))}`,
  workspace_discarded_content: ({ payload }) =>
    `${String(payload["file_count"])} undeclared files of its workspace were moved aside`,
  purged: ({ actor }, { text }) => `${actor} deleted ${text("title")}`,
  board_paused: ({ actor }) => `${actor} paused the board`,
  board_resumed: ({ actor }) => `${actor} resumed the board`,
  board_described: ({ actor }) => `${actor} described the board`,
  profile_renamed: (_, { text }) => `the profile ${text("from")} is now called ${text("to")}`,
  counters_repaired: ({ actor }) => `${actor} repaired counters`,
};

/** How a run ended, as people say it. */
const OUTCOMES: Readonly<Record<RunOutcome, string>> = {
  completed: "completed",
  blocked: "blocked",
  scheduled: "scheduled",
  review_requested: "handed to review",
  changes_requested: "changes wanted",
  released: "released",
  reclaimed: "taken back",
  crashed: "failed",
  timed_out: "ran out of time",
  spawn_failed: "could not start",
  protocol_violation: "ended without a result",
  budget_exhausted: "used up its budget",
  rate_limited: "met a limit",
  infra_killed: "ended from outside",
  stale: "fell silent",
  gave_up: "failed, and was given up",
};

export function outcomeWords(outcome: RunOutcome | null): string {
  return outcome === null ? "running" : OUTCOMES[outcome];
}

/** A column as people call it. */
function fieldWords(field: string): string {
  return field.replace(/_override$/, "").replaceAll("_", " ");
}

const LENGTH = 200;
const TITLE_WIDTH = 40;

/** An event as a sentence with the time and, unless `task` is left out, the name of its task; undefined when it is not worth one. */
export function eventLine(
  event: BoardEvent,
  names: Names,
  { withTask }: { readonly withTask: boolean },
): string | undefined {
  const text = (key: string): string => {
    const value = event.payload[key];
    return typeof value === "string" ? shortened(value.trim().split("\n", 1)[0] ?? "") : "";
  };
  const nameOf = (key: string): string => taskNameOf(names, text(key));
  const tell = SENTENCES[event.kind];
  const said =
    tell === undefined
      ? `${event.kind.replaceAll("_", " ")} by ${event.actor}`
      : tell(event, { text, nameOf });
  if (said === "") return undefined;
  const subject = withTask && event.task_id !== null ? `${taskNameOf(names, event.task_id)}: ` : "";
  return escapeControls(`${clockOf(event.created_at)}  ${subject}${said}`);
}

/** The ids of all tasks that the sentence names. */
export function tasksIn({ task_id, payload }: BoardEvent): readonly string[] {
  return [task_id, payload["parent"], payload["ancestor"]].filter((id) => typeof id === "string");
}

function taskNameOf(names: Names, id: string): string {
  const name = names.get(id);
  return name === undefined ? id : briefName(name);
}

/** The number of a task and as much of its title as a sentence has room for. */
export function briefName({ seq, title }: Pick<TaskName, "seq" | "title">): string {
  return `#${seq} ${cutText(title, TITLE_WIDTH)}`;
}

/** The same for a line of its own: titles are whatever somebody wrote. */
export function shownName(task: Pick<TaskName, "seq" | "title">): string {
  return escapeControls(briefName(task));
}

function after(before: string, text: string, behind = ""): string {
  return text === "" ? "" : `${before}${text}${behind}`;
}

function shortened(text: string): string {
  return cutText(text.replaceAll(/\s+/g, " ").trim(), LENGTH);
}

function clockOf(time: number): string {
  return new Date(time).toLocaleTimeString("en-GB");
}
