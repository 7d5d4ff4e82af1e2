import { AppError } from "../../lib/errors.ts";
import type { Caller } from "../caller.ts";
import { findOpenRun, requireTask, toRun } from "../operations/load.ts";
import { endRun } from "../operations/runs.ts";
import type { DispatchBoard } from "./dispatch-board.ts";
import type { DispatchHost } from "./host.ts";
import { endFromAfar } from "./operations/take-back.ts";

/** Ends the run of a task with its processes, which are gone before anyone else gets it; false when it had none. */
export async function reclaimTask(
  {
    board,
    host,
    caller,
  }: { readonly board: DispatchBoard; readonly host: DispatchHost; readonly caller: Caller },
  taskId: string,
  reason: string,
  signal: AbortSignal,
): Promise<boolean> {
  const open = await board.read(function* () {
    yield* requireTask(taskId);
    return yield* findOpenRun(taskId);
  }, signal);
  if (open === undefined) return false;
  const isOurs = open.host_id === host.id;
  const isByHand = open.supervisor_pid === null && open.worker_pid === null;
  if (isOurs && (await host.terminate(toRun(open), signal)) !== "gone" && !isByHand)
    throw new AppError("task-running", `The processes of ${taskId} could not be ended.`, {
      hint: "Look at them on this host; the task stays as it is until they are gone.",
    });
  const detail = reason === "" ? {} : { reason };
  const ending = { runId: open.id, outcome: "reclaimed", detail } as const;
  await board.write(caller, (change) => (isOurs ? endRun : endFromAfar)(change, ending), signal);
  return true;
}
