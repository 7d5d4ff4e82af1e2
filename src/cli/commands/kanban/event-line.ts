import type { BoardEvent } from "../../../board/task.ts";
import { escapeControls } from "../../escape-controls.ts";

const VALUE_LENGTH = 80;

/** An event in one line: when, of which task, what, by whom, and what is known of it. */
export function eventLine(event: BoardEvent, withTask: boolean): string {
  const { id, task_id, kind, actor, from_status, to_status, payload, created_at } = event;
  const moved = from_status === null || to_status === null ? "" : ` ${from_status} → ${to_status}`;
  const facts = Object.entries(payload).flatMap(([name, value]) => {
    const isTold = value === null || value === "" || (Array.isArray(value) && value.length === 0);
    return isTold ? [] : [`${name}=${shown(value)}`];
  });
  const where = withTask ? `${task_id ?? "board"}  ` : "";
  return escapeControls(
    `${clock(created_at)}  #${id}  ${where}${kind}${moved} by ${actor} ${facts.join(" ")}`.trimEnd(),
  );
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value.replaceAll(/\s+/g, " ") : JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}

function clock(time: number): string {
  return new Date(time).toLocaleTimeString("en-GB");
}
