import { createHash } from "node:crypto";
import type { BoardPlace } from "../board-store.ts";

/** What every process of a run has in its environment, so that it is found wherever it forked away to. */
export const RUN_MARK = "HERMES_KANBAN_MARK";
/** The same for the supervisor, which is not one of the processes that it may end. */
export const SUPERVISOR_MARK = "HERMES_KANBAN_SUPERVISES";

export interface RunName {
  readonly taskId: string;
  readonly runId: number;
}

/** The beginning of the marks of one board, unlike those of any other board of this machine. */
export function boardMark({ root, databaseUrl, slug }: BoardPlace): string {
  const place = databaseUrl === "" ? root : databaseUrl;
  return `${createHash("sha256").update(`hermes board ${place}\n${slug}`).digest("hex").slice(0, 16)}.`;
}

/** The beginning of the marks of all runs of one task. */
export function taskMark(place: BoardPlace, taskId: string): string {
  return `${boardMark(place)}${taskId}.`;
}

/** The mark of one run. It ends with a letter, so that no mark is the beginning of another. */
export function runMark(place: BoardPlace, { taskId, runId }: RunName): string {
  return `${taskMark(place, taskId)}${runId}r`;
}
