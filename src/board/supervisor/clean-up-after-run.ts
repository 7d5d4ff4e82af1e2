import { messageOf } from "../../lib/errors.ts";
import { openDeadline } from "../../lib/time/deadline.ts";
import type { BoardStore } from "../board-store.ts";
import type { RunOrder } from "../worker/run-order.ts";
import { pickPublicVariables } from "../worker/worker-variables.ts";
import { boardFolders } from "../workspaces/board-folders.ts";
import { cleanUpWorkspace } from "../workspaces/clean-up-workspace.ts";
import type { Cleanup } from "../workspaces/cleanup.ts";

const DEADLINE_MS = 60_000;

/** Removes the workspaces that a finished task and its parents no longer need. Never rejects; resolves with lines for the log. */
export async function cleanUpAfterRun(
  { location, run, worker, workspaces }: RunOrder,
  store: BoardStore,
): Promise<readonly string[]> {
  if (workspaces === undefined) return [];
  const workspaceLocation = {
    ...boardFolders(location.root, location.slug),
    ...workspaces,
    env: pickPublicVariables(worker.env),
    now: () => Date.now(),
  };
  using deadline = openDeadline(new AbortController().signal, DEADLINE_MS);
  const lines: string[] = [];
  try {
    const { task, parents } = await store.show(run.taskId, deadline.signal);
    if (task.status !== "done" && task.status !== "archived") return [];
    for (const id of [task.id, ...parents])
      lines.push(
        ...describeCleanup(
          await cleanUpWorkspace({ store, location: workspaceLocation }, id, deadline.signal),
        ),
      );
  } catch (error) {
    lines.push(`the workspace is kept: ${messageOf(error)}`); // `kanban gc` removes it later
  }
  return lines;
}

function describeCleanup(cleanup: Cleanup): readonly string[] {
  if (cleanup.outcome !== "removed") return [];
  const count = cleanup.discarded?.file_count ?? 0;
  const discarded =
    count === 0 ? "" : ` with ${count} ${count === 1 ? "file" : "files"} not declared as artifacts`;
  return [`the workspace of ${cleanup.taskId} was removed${discarded}`];
}
