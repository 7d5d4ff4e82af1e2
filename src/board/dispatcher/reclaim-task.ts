import type { Caller } from "../caller.ts";
import { endRun } from "../operations/runs/end-run.ts";
import { confirmRunExit } from "../operations/runs/leaving-runs.ts";
import { assignTask } from "../operations/tasks/edit-task.ts";
import { findOpenRun, requireTask, toRun, toTask } from "../operations/views/rows.ts";
import type { Task } from "../task.ts";
import { DISPATCHER, type DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./dispatch-host.ts";

export interface Reclaim {
  readonly taskId: string;
  readonly reason: string;
  /** The profile that the task is assigned to in the same transaction. */
  readonly assignee?: string;
}

export interface ReclaimResult {
  /** `none`: no run was open. `ended`: its processes have exited. `leaving`: its worker may be alive, and the task waits. */
  readonly run: "none" | "ended" | "leaving";
  /** The task after the reclaim; a dispatcher may have started it again since. */
  readonly task: Task;
}

/** Ends the run of a task. The decision is written before the processes are killed, so that their reports come too late. */
export async function reclaimTask(
  {
    board,
    host,
    caller,
  }: { readonly board: DispatchBoard; readonly host: DispatchHost; readonly caller: Caller },
  { taskId, reason, assignee }: Reclaim,
  signal: AbortSignal,
): Promise<ReclaimResult> {
  const { found: open, task } = await board.write(
    caller,
    function* (transaction) {
      yield* requireTask(taskId);
      const found = yield* findOpenRun(taskId);
      const detail = reason === "" ? {} : { reason };
      const error = reason === "" ? {} : { error: reason };
      if (found !== undefined)
        yield* endRun(transaction, {
          runId: found.id,
          outcome: "reclaimed",
          detail,
          ...error,
          exitUnconfirmed: true,
        });
      if (assignee !== undefined) yield* assignTask(transaction, taskId, assignee);
      return { found, task: toTask(yield* requireTask(taskId)) };
    },
    signal,
  );
  if (open === undefined) return { run: "none", task };
  if (open.supervisor_pid === null) return { run: "ended", task }; // claimed by a person, or not started yet
  if (open.host_id !== host.id) return { run: "leaving", task };
  if ((await host.terminate(toRun(open), signal)) !== "gone") return { run: "leaving", task };
  await board.write(DISPATCHER, (transaction) => confirmRunExit(transaction, open.id), signal);
  return { run: "ended", task };
}
