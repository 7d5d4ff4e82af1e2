import type { Run } from "../../../../board/task.ts";
import type { ShownTask } from "../../../contract/tasks.ts";
import type { DashboardParts } from "../../dashboard-parts.ts";
import type { DashboardCall } from "../../dashboard-route.ts";
import type { DashboardBoard } from "../../data/board-data.ts";
import { toCard } from "./card-view.ts";
import { toEvents } from "./event-view.ts";
import { movesFrom } from "./move-rules.ts";
import { requireTaskId } from "./require-board.ts";
import { toComment, toFile, toRun, toTask } from "./task-view.ts";

/** Everything that the drawer of a task shows, in one answer. */
export async function showTask(
  call: DashboardCall,
  board: DashboardBoard,
  { live }: DashboardParts,
): Promise<ShownTask> {
  const { disconnected: signal } = call;
  const { store } = board;
  const at = await live.watch(`board:${store.slug}`);
  const id = await requireTaskId(call, store);
  const shown = await store.show(id, signal);
  const names = await store.findTaskNames([...shown.parents, ...shown.children], signal);
  const read = await board.commentsRead(shown.runs, signal);
  const named = (ids: readonly string[]) =>
    ids.flatMap((one) => {
      const name = names.get(one);
      return name === undefined ? [] : [{ ...name }];
    });
  return {
    task: toTask(shown.task),
    card: await toCard(board, id, signal),
    parents: named(shown.parents),
    children: named(shown.children),
    comments: shown.comments.map((comment) => toComment(comment, read)),
    events: await toEvents(store, shown.events, signal),
    runs: await toRuns(board, id, shown.runs, signal),
    files: shown.attachments.map(toFile),
    workspace: await board.workspace(shown.task, signal),
    moves: movesFrom(shown.task.status),
    at,
  };
}

async function toRuns(
  board: DashboardBoard,
  taskId: string,
  runs: readonly Run[],
  signal: AbortSignal,
): Promise<ShownTask["runs"]> {
  const hosts = new Map<string, string>();
  for (const { host_id: id } of runs)
    if (id !== null && !hosts.has(id)) hosts.set(id, await board.store.hostName(id, signal));
  const logged = new Set(board.loggedRuns(taskId));
  return runs.map((run) => {
    const host = run.host_id === null ? null : (hosts.get(run.host_id) ?? null);
    return toRun(run, { host, hasLog: logged.has(run.id) });
  });
}
