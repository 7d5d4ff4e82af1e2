import { liftGuards } from "../../../../board/dispatcher/operations/tell-once.ts";
import { reclaimTask } from "../../../../board/dispatcher/reclaim-task.ts";
import { type Why, whyNotRunning } from "../../../../board/dispatcher/why.ts";
import type { Task } from "../../../../board/task.ts";
import { AppError } from "../../../../lib/errors.ts";
import { escapeControls } from "../../../escape-controls.ts";
import { wrapText } from "../../../fit-text.ts";
import { requirePerson } from "../../../require-person.ts";
import { changeTasks } from "../change-tasks.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "../desk.ts";
import { shownName } from "../event-line.ts";
import { openDispatch } from "./open-dispatch.ts";

function sayLeaving({ context }: OpenDesk, task: Task): void {
  context.terminal.note(
    `hermes: note: the worker of ${shownName(task)} has not ended yet; the task starts again once it has, or its lease is over.`,
  );
}

/** `kanban reclaim`: ends the run of tasks with its processes. */
export async function reclaim(
  desk: Desk,
  ids: readonly string[],
  { reason, ...options }: JsonOption & { readonly reason: string },
): Promise<void> {
  requirePerson(desk);
  await atBoard(desk, async (open) => {
    await using dispatch = await openDispatch(open);
    const change = async (id: string): Promise<Task> => {
      const { run, task } = await reclaimTask(
        { ...dispatch, caller: open.caller },
        { taskId: id, reason },
        open.signal,
      );
      if (run === "leaving") sayLeaving(open, task);
      if (run !== "none") return task;
      throw new AppError("task-move-refused", `${id} is ${task.status}; there is no run to end.`);
    };
    await changeTasks(
      open,
      {
        ids,
        change,
        say: (task) => `The run of ${shownName(task)} is ended; the task went back to ${task.status}.`,
      },
      options,
    );
  });
}

/** `kanban reassign`: gives a task to another profile, ending its run first if that is asked for. */
export async function reassign(
  desk: Desk,
  id: string,
  profile: string,
  {
    reclaim: isToEnd = false,
    reason = `given to ${profile}`,
    ...options
  }: JsonOption & { readonly reclaim?: boolean; readonly reason?: string },
): Promise<void> {
  requirePerson(desk);
  await atBoard(desk, async (open) => {
    await using dispatch = await openDispatch(open);
    const change = async (taskId: string): Promise<Task> => {
      if (!isToEnd) return open.client.assign(taskId, profile, undefined, open.signal);
      const { run, task } = await reclaimTask(
        { ...dispatch, caller: open.caller },
        { taskId, reason, assignee: profile },
        open.signal,
      );
      if (run === "leaving") sayLeaving(open, task);
      return task;
    };
    await changeTasks(
      open,
      { ids: [id], change, say: (task) => `${shownName(task)} is now for ${task.assignee ?? "nobody"}.` },
      options,
    );
  });
}

/** `kanban unguard`: lets tasks start in spite of what happened to them before. */
export async function unguard(desk: Desk, ids: readonly string[], options: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    await using dispatch = await openDispatch(open);
    const reasons = new Map<string, Why>();
    const change = async (id: string): Promise<Task> => {
      const task = await dispatch.board.write(open.caller, (writing) => liftGuards(writing, id), open.signal);
      reasons.set(id, await whyNotRunning(dispatch, id, open.signal));
      return task;
    };
    // What is left may be no guard at all, and then only that helps.
    const say = (task: Task): string => {
      const { reason = "next", text = "", release = "" } = reasons.get(task.id) ?? {};
      if (reason === "next" || reason === "running") return `${shownName(task)} may start at once.`;
      const help = release === "" ? "" : `\n  ${escapeControls(release)}`;
      return `${shownName(task)} does not start. ${escapeControls(text)}${help}`;
    };
    await changeTasks(open, { ids, change, say }, options);
  });
}

const MOST_LINES = 20;

/** `kanban why`: the one reason why a task is not running. */
export async function why(desk: Desk, text: string, { json }: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    await using dispatch = await openDispatch(open);
    const answer: Why = await withTasks(open, [text], (id) => whyNotRunning(dispatch, id, open.signal));
    const { terminal } = open.context;
    if (json) return terminal.printJson(answer);
    const { task } = await open.store.show(answer.task_id, open.signal);
    terminal.print(terminal.colours.bold(`#${task.seq} ${escapeControls(task.title)}`));
    const lines = wrapText(
      escapeControls(answer.text),
      terminal.columns ?? Number.POSITIVE_INFINITY,
      MOST_LINES,
    );
    terminal.print(lines.join("\n"));
    if (answer.release !== "") terminal.print(`  ${escapeControls(answer.release)}`);
  });
}
