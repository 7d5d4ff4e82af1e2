import { openDeadline } from "../../lib/deadline.ts";
import { messageOf } from "../../lib/errors.ts";
import type { BoardStore } from "../board-store.ts";
import { boardFolders } from "../workspaces/board-folders.ts";
import { cleanUpWorkspace } from "../workspaces/clean-up-workspace.ts";
import type { Cleanup } from "../workspaces/cleanup.ts";
import type { RunOrder } from "./run-order.ts";
import { openVariables } from "./worker-variables.ts";

const DEADLINE_MS = 60_000;

/**
 * Removes the workspaces that nobody needs once a run's task is over: its own, and those of tasks that it had waited
 * for. The caller has seen all processes of the run end. Never rejects; resolves with what a person should know of it.
 */
export async function cleanUpAfterRun(
  { place, run, worker, workspaces }: RunOrder,
  store: BoardStore,
): Promise<readonly string[]> {
  if (workspaces === undefined) return [];
  const where = {
    ...boardFolders(place.root, place.slug),
    ...workspaces,
    env: openVariables(worker.env),
    now: () => Date.now(),
  };
  using deadline = openDeadline(new AbortController().signal, DEADLINE_MS);
  const news: string[] = [];
  try {
    const { task, parents } = await store.show(run.taskId, deadline.signal);
    if (task.status !== "done" && task.status !== "archived") return [];
    for (const id of [task.id, ...parents])
      news.push(...wordsOf(await cleanUpWorkspace({ store, place: where }, id, deadline.signal)));
  } catch (error) {
    news.push(`the workspace is kept: ${messageOf(error)}`); // `kanban gc` makes up for it
  }
  return news;
}

function wordsOf(cleanup: Cleanup): readonly string[] {
  if (cleanup.outcome !== "removed") return [];
  const count = cleanup.discarded?.file_count ?? 0;
  const also =
    count === 0 ? "" : ` with ${count} ${count === 1 ? "file" : "files"} that nobody had asked for`;
  return [`the workspace of ${cleanup.taskId} was removed${also}`];
}
