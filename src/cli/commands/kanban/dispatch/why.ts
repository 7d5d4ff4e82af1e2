import { openDispatch } from "../../../../app/dispatch.ts";
import { type Explanation, explainTask } from "../../../../board/dispatcher/reasons/explain-task.ts";
import { liftGuards } from "../../../../board/dispatcher/transactions/record-notices.ts";
import type { Task } from "../../../../board/task.ts";
import type { AddVerb } from "../../../define-command.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import { wrapIndented, wrapText } from "../../../terminal/fit-text.ts";
import { type JsonOption, type KanbanContext, type OpenBoardContext, withTasks } from "../kanban-context.ts";
import { onBoard, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";

const MAX_LINES = 20;
const LIST_INDENT = 4;

/** The verbs that explain why a task does not start, and that let it start. */
export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("why", "Explain why a task is not running and how to start it.", ["hermes kanban why 12"])
    .argument("<task>")
    .action(onBoard(kanbanContext, showWhy));
  const reasons = new Map<string, Explanation>();
  add("unguard", "Remove the guards that delay tasks, so that they can start now.", [
    "hermes kanban unguard 12",
  ])
    .argument("<tasks...>")
    .action(
      onTasks(
        kanbanContext,
        async (open, id) => {
          using dispatch = await openDispatch(open, open.signal);
          const lift = (writing: Parameters<typeof liftGuards>[0]) => liftGuards(writing, id);
          const task = await dispatch.board.write(open.caller, lift, open.signal);
          reasons.set(id, await explainTask(dispatch, id, open.signal));
          return task;
        },
        (task) => describeUnguarded(task, reasons.get(task.id)),
      ),
    );
}

/** If the remaining reason is not a guard, the sentence says how to resolve it. */
function describeUnguarded(task: Task, why: Explanation | undefined): string {
  const { reason = "next", text = "", release = "" } = why ?? {};
  if (reason === "running") return `${escapedName(task)} is running.`;
  if (reason === "next") return `${escapedName(task)} may start now.`;
  const help = release === "" ? "" : `\n  ${escapeControls(release)}`;
  return `${escapedName(task)} does not start. ${escapeControls(text)}${help}`;
}

async function showWhy(open: OpenBoardContext, text: string, { json }: JsonOption): Promise<void> {
  using dispatch = await openDispatch(open, open.signal);
  const answer: Explanation = await withTasks(open, [text], (id) => explainTask(dispatch, id, open.signal));
  const { terminal } = open.context;
  if (json) return terminal.printJson(answer);
  const { task } = await open.store.show(answer.task_id, open.signal);
  terminal.print(terminal.colours.bold(`#${task.seq} ${escapeControls(task.title)}`));
  const width = terminal.columns ?? Number.POSITIVE_INFINITY;
  const [sentence = "", ...list] = escapeControls(answer.text).split("\n");
  terminal.print(wrapText(sentence, width, MAX_LINES).join("\n"));
  for (const line of list)
    terminal.print(`    ${wrapIndented(line, width - LIST_INDENT, 2).replaceAll("\n", "\n    ")}`);
  if (answer.release !== "") terminal.print(`  ${escapeControls(answer.release)}`);
}
