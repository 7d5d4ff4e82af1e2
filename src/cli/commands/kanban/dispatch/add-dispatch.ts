import type { AddVerb } from "../../../define-command.ts";
import { parseCountOrZero } from "../../../parse-option.ts";
import { byPerson } from "../../../require-person.ts";
import type { KanbanContext } from "../kanban-context.ts";
import { onBoard } from "../verb.ts";
import { runDaemon } from "./daemon.ts";
import { dispatchOnce } from "./dispatch-once.ts";
import { showDispatchStatus } from "./dispatch-status.ts";

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("dispatch", "Run one dispatcher pass: update the board and start ready tasks.", [
    "hermes kanban dispatch --dry-run",
    "hermes kanban dispatch --max 1 --json",
  ])
    .option("--dry-run", "show what would be done, without doing it")
    .option("--max <number>", "maximum number of tasks to start", parseCountOrZero)
    .action(byPerson(kanbanContext.context, onBoard(kanbanContext, dispatchOnce)));
  add("daemon", "Run the dispatcher for all boards until it is stopped.", ["hermes kanban daemon"]).action(
    byPerson(kanbanContext.context, () => runDaemon(kanbanContext)),
  );
  add("dispatch-status", "Show the dispatchers of this board and their last pass.", [
    "hermes kanban dispatch-status --json",
  ]).action(onBoard(kanbanContext, showDispatchStatus));
}
