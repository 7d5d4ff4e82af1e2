import { openDispatch } from "../../../../app/dispatch.ts";
import { reclaimTask } from "../../../../board/dispatcher/reclaim-task.ts";
import type { Task } from "../../../../board/task.ts";
import { describeStatus } from "../../../../board/transitions.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { AddVerb } from "../../../define-command.ts";
import { byPerson } from "../../../require-person.ts";
import type { KanbanContext, OpenBoardContext } from "../kanban-context.ts";
import { describeAssignee, noteLane, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";

/** The verbs that end the run of a task. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("reassign", "Assign a task to another profile; a running task needs --reclaim.", [
    "hermes kanban reassign 12 reviewer --reclaim",
  ])
    .argument("<task>")
    .argument("<profile>")
    .option("--reclaim", "end its run and processes first; required while it runs")
    .option("--reason <text>", "reason to record for the ended run")
    .action(
      byPerson(
        kanbanContext.context,
        onTasks(kanbanContext, reassign, (task) => `${escapedName(task)} is now ${describeAssignee(task)}.`),
      ),
    );
  add("reclaim", "End the runs of tasks and their processes; the tasks return to their earlier status.", [
    "hermes kanban reclaim 12",
  ])
    .argument("<tasks...>")
    .option("--reason <text>", "reason to record", "")
    .action(
      byPerson(
        kanbanContext.context,
        onTasks(
          kanbanContext,
          reclaim,
          (task) => `The run of ${escapedName(task)} was ended; the task is ${task.status} again.`,
        ),
      ),
    );
}

async function reclaim(
  open: OpenBoardContext,
  taskId: string,
  { reason }: { reason: string },
): Promise<Task> {
  const { run, task } = await endRun(open, { taskId, reason });
  if (run !== "none") return task;
  const state = describeStatus(task.status);
  throw new AppError("task-move-refused", `${taskId} is ${state}; it has no run to end.`);
}

/** Assigns a task to another profile; with --reclaim, ends its run first. */
async function reassign(
  open: OpenBoardContext,
  taskId: string,
  assignee: string,
  { reclaim: endsRun = false, reason = `reassigned to ${assignee}` }: { reclaim?: boolean; reason?: string },
): Promise<Task> {
  const task = endsRun
    ? (await endRun(open, { taskId, reason, assignee })).task
    : await open.client.assign(taskId, assignee, undefined, open.signal);
  await noteLane(open, task.assignee);
  return task;
}

async function endRun(open: OpenBoardContext, wanted: Parameters<typeof reclaimTask>[1]) {
  using dispatch = await openDispatch(open, open.signal);
  const ended = await reclaimTask({ ...dispatch, caller: open.caller }, wanted, open.signal);
  if (ended.run === "leaving")
    open.context.terminal.note(
      `hermes: note: the worker of ${escapedName(ended.task)} has not exited yet; the task starts again after it has, or after its lease expires.`,
    );
  return ended;
}
