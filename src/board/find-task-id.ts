import { AppError } from "../lib/errors.ts";
import type { BoardStore } from "./board-store.ts";

const WHOLE = /^t_[0-9a-f]{12}$/;

/** The id of the task with this id, number or id prefix, if there is one. Throws `task-ambiguous`. A whole id is not looked up. */
export async function findTaskId(
  store: BoardStore,
  text: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (WHOLE.test(text)) return text;
  const [found, ...others] = await store.findTasks(text, signal);
  if (others.length === 0) return found?.id;
  const candidates = [found, ...others].map((task) => `  ${task?.id}  ${task?.status}  ${task?.title}`);
  throw new AppError("task-ambiguous", `Several task ids start with ${text}.`, {
    hint: `Give more digits of the id:\n${candidates.join("\n")}`,
  });
}
