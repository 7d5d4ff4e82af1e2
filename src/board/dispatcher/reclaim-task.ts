import type { Caller } from "../caller.ts";
import { seeEnd } from "../operations/leaving.ts";
import { findOpenRun, requireTask, toRun, toTask } from "../operations/load.ts";
import { assignTask } from "../operations/manage.ts";
import { endRun } from "../operations/runs.ts";
import type { Task } from "../task.ts";
import { DISPATCHER, type DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./host.ts";

export interface Reclaim {
  readonly taskId: string;
  readonly reason: string;
  /** Whom the task is given to, in the same transaction. */
  readonly assignee?: string;
}

export interface Reclaimed {
  /** `none`: there was no run. `ended`: nothing of it lives. `leaving`: its worker may live, and the task waits for it. */
  readonly run: "none" | "ended" | "leaving";
  /** As this has left it; a dispatcher may have started it again since. */
  readonly task: Task;
}

/**
 * Ends the run of a task and gives the task to another profile if that is asked for. What the person has decided is
 * written first; only then are the processes ended, so that nothing that their supervisor reports can come before it.
 */
export async function reclaimTask(
  {
    board,
    host,
    caller,
  }: { readonly board: DispatchBoard; readonly host: DispatchHost; readonly caller: Caller },
  { taskId, reason, assignee }: Reclaim,
  signal: AbortSignal,
): Promise<Reclaimed> {
  const { found: open, task } = await board.write(
    caller,
    function* (change) {
      yield* requireTask(taskId);
      const found = yield* findOpenRun(taskId);
      const detail = reason === "" ? {} : { reason };
      const error = reason === "" ? {} : { error: reason };
      if (found !== undefined)
        yield* endRun(change, { runId: found.id, outcome: "reclaimed", detail, ...error, unseen: true });
      if (assignee !== undefined) yield* assignTask(change, taskId, assignee);
      return { found, task: toTask(yield* requireTask(taskId)) };
    },
    signal,
  );
  if (open === undefined) return { run: "none", task };
  if (open.supervisor_pid === null) return { run: "ended", task }; // claimed by hand, or not started yet
  if (open.host_id !== host.id) return { run: "leaving", task };
  if ((await host.terminate(toRun(open), signal)) !== "gone") return { run: "leaving", task };
  await board.write(DISPATCHER, (change) => seeEnd(change, open.id), signal);
  return { run: "ended", task };
}
