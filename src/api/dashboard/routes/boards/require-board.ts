import type { BoardStore } from "../../../../board/board-store.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import type { DashboardCall } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";

type Call = Pick<DashboardCall, "params" | "disconnected">;

/** Opens the board in the path; throws `board-not-found`. */
export function requireBoard(
  { params, disconnected }: Call,
  { data }: DashboardParts,
): Promise<DashboardBoard> {
  return data.boards.open(params["board"] ?? "", disconnected);
}

const WHOLE = /^t_[0-9a-f]{12}$/;

/** The full id of the task in the path, which may be an id, an id prefix or a number. */
export async function requireTaskId(
  { params, disconnected }: Call,
  store: BoardStore,
  name = "task",
): Promise<string> {
  const text = params[name] ?? "";
  if (WHOLE.test(text)) return text;
  const [found, ...others] = await store.findTasks(text, disconnected);
  if (found === undefined)
    throw new AppError("task-not-found", `There is no task ${JSON.stringify(text)} on this board.`);
  if (others.length === 0) return found.id;
  throw new AppError("task-ambiguous", `Several task ids start with ${text}.`);
}
