import { shorten } from "../../../lib/text/shorten.ts";
import { formatNear, formatTime } from "../../../lib/time/format-time.ts";
import { briefError } from "../../brief-error.ts";
import { authorOf } from "../../caller.ts";
import { DISPATCHER } from "../../dispatcher/dispatch-board.ts";
import { GUARD_WORDS } from "../../dispatcher/reasons/guards.ts";
import type { BoardEvent } from "../../task.ts";
import type { TaskName } from "./list-details.ts";

export type TaskNames = ReadonlyMap<string, Pick<TaskName, "seq" | "title">>;
type Sentence = (
  event: BoardEvent,
  facts: { text(key: string): string; nameOf(key: string): string },
) => string;

/** The text of each kind of event, after the name of the task. Internal kinds have an empty text and are not shown. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  created: ({ actor }, { text }) => `created by ${actor}${withPrefix(" for ", text("assignee"))}`,
  claimed: ({ actor, run_id }, { text }) => {
    const by = actor === authorOf(DISPATCHER) ? text("profile") || actor : actor; // a person may claim the task of a profile
    return `started by ${by} (run ${run_id})`;
  },
  spawned: () => "",
  heartbeat: (_, { text }) => `worker note: ${text("note")}`,
  // The sentence of the move contains the reason.
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
      ? `waits for another task${withPrefix(": ", text("reason"))}`
      : `waits for ${nameOf("parent")}`,
  completed: ({ actor }, { text }) => `done by ${actor}${withPrefix(": ", text("summary"))}`,
  blocked: ({ actor }, { text }) => `blocked by ${actor}: ${text("reason")}`,
  block_loop_detected: (_, { text }) => `asked again without an answer; moved to triage: ${text("reason")}`,
  unblocked: ({ actor }, { text }) => `unblocked by ${actor}${withPrefix(": ", text("reason"))}`,
  unguarded: ({ actor }) => `${actor} allowed it to start now`,
  fresh_start: ({ actor }) => `${actor} requested a new session for the next run`,
  scheduled: ({ payload }, { text }) =>
    `waits until ${formatTime(Number(payload["scheduled_at"]))}${withPrefix(": ", text("reason"))}`,
  promoted: ({ to_status }) => `is ${to_status}`,
  promoted_manual: ({ actor }) => `made ready by ${actor}`,
  specified: ({ actor }) => `specified by ${actor}`,
  decomposed: ({ actor }) => `split by ${actor}`,
  held: ({ actor }) => `held by ${actor}`,
  hold_removed: ({ actor }) => `hold removed by ${actor}`,
  let_go: ({ actor }) => `hold removed by ${actor}`, // the kind that earlier versions have stored
  review_requested: (_, { text }) =>
    `waits for review by ${text("reviewer")}${withPrefix(": ", text("summary"))}`,
  changes_requested: ({ actor }, { text }) => `${actor} requested changes: ${text("reason")}`,
  review_reopened: ({ actor }) => `${actor} withdrew it from review`,
  status: ({ actor, to_status }) => `reopened by ${actor}; it is ${to_status}`,
  descendant_invalidated: (_, { nameOf }) => `waits again, because ${nameOf("ancestor")} was reopened`,
  archived: ({ actor }) => `archived by ${actor}`,
  reclaimed: ({ to_status }, { text }) =>
    `reclaimed${withPrefix(" (", text("reason"), ")")}; it is ${to_status}`,
  reclaim_deferred: (_, { text }) => `not reclaimed yet: ${text("reason")}`,
  reconciled: ({ to_status }) => `had no run although it was running; it is ${to_status} again`,
  crashed: (_, { text }) => `failed${withPrefix(": ", briefError(text("error")))}`,
  timed_out: (_, { text }) => `ran out of time${withPrefix(": ", text("error"))}`,
  spawn_failed: (_, { text }) => `could not be started${withPrefix(": ", text("error"))}`,
  protocol_violation: (_, { text }) => `ended without a result${withPrefix(": ", text("error"))}`,
  budget_exhausted: (_, { text }) => `used up its budget${withPrefix(": ", text("error"))}`,
  rate_limited: (_, { text }) => `hit a rate limit of its provider${withPrefix(": ", text("error"))}`,
  infra_killed: (_, { text }) => `was killed from outside${withPrefix(": ", text("error"))}`,
  stale: () => "stopped responding",
  gave_up: ({ payload: { failures } }) =>
    `is blocked after ${failures === 1 ? "a failure" : `${String(failures ?? "several")} failures`}`,
  respawn_guarded: ({ payload, created_at }, { text }) => {
    const reason = text("reason");
    if (reason === "worker_leaving") return ""; // lasts only seconds
    if (reason === "branch_busy") return "waits for its branch, which is checked out elsewhere";
    const until =
      typeof payload["until"] === "number" ? ` until ${formatNear(payload["until"], created_at)}` : "";
    return `waits${until}: ${GUARD_WORDS[reason as keyof typeof GUARD_WORDS] ?? "it is not retried yet"}`;
  },
  skipped_nonspawnable: (_, { text }) => `cannot be started${withPrefix(": ", text("reason"))}`,
  workspace_discarded_content: ({ payload }) =>
    `${String(payload["file_count"])} undeclared files of its workspace were moved aside`,
  purged: ({ actor }, { text }) => `${actor} deleted ${text("title")}`,
  board_paused: ({ actor }) => `${actor} paused the board`,
  board_resumed: ({ actor }) => `${actor} resumed the board`,
  board_described: ({ actor }) => `${actor} changed the details of the board`,
  profile_renamed: (_, { text }) => `the profile ${text("from")} is now called ${text("to")}`,
  counters_repaired: ({ actor }) => `${actor} repaired counters`,
};

function fieldWords(field: string): string {
  return field.replace(/_override$/, "").replaceAll("_", " ");
}

const LENGTH = 200;

/**
 * What happened, as the part of a sentence that follows the name of the task; undefined for internal events. May contain
 * control characters, because texts of tasks are untrusted.
 */
export function describeEvent(
  event: BoardEvent,
  names: TaskNames,
  briefName: (task: Pick<TaskName, "seq" | "title">) => string,
): string | undefined {
  const text = (key: string): string => {
    const value = event.payload[key];
    return typeof value === "string" ? shortenToLine(value.trim().split("\n", 1)[0] ?? "") : "";
  };
  const nameOf = (key: string): string => {
    const id = text(key);
    const name = names.get(id);
    return name === undefined ? id : briefName(name);
  };
  const format = SENTENCES[event.kind];
  const sentence =
    format === undefined
      ? `${event.kind.replaceAll("_", " ")} by ${event.actor}`
      : format(event, { text, nameOf });
  return sentence === "" ? undefined : sentence;
}

/** The ids of all tasks that the sentence names. */
export function tasksIn({ task_id, payload }: BoardEvent): readonly string[] {
  return [task_id, payload["parent"], payload["ancestor"]].filter((id) => typeof id === "string");
}

function withPrefix(prefix: string, text: string, suffix = ""): string {
  return text === "" ? "" : `${prefix}${text}${suffix}`;
}

function shortenToLine(text: string): string {
  return shorten(text.replaceAll(/\s+/g, " ").trim(), LENGTH);
}
