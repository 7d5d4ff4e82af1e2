import type { Task } from "../../../../board/task.ts";
import { describeStatus } from "../../../../board/transitions.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import type { KanbanContext } from "../kanban-context.ts";
import { parseObject, type ResultOptions } from "../parse.ts";
import { describeAssignee, noteLane, onTasks } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";
import { cleanUpAfter } from "./clean-up-after.ts";

interface ReviewOptions extends ResultOptions {
  readonly reviewer: string;
}

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add(
    "request-review",
    "Request a review of a task. No dispatcher starts a reviewer; a person approves or claims the task.",
    ['hermes kanban request-review 12 --reviewer reviewer --summary "PR 12"'],
  )
    .argument("<task>")
    .requiredOption("--reviewer <profile>", "profile that reviews it; must not be the one that did it")
    .option("--summary <text>", "summary of the work")
    .option("--metadata <json>", "JSON object stored with the summary", parseObject)
    .action(
      onTasks(
        kanbanContext,
        async (open, id, { reviewer, summary, metadata }: ReviewOptions) => {
          const given = withoutUndefined({ summary, metadata });
          const task = await open.client.requestReview(id, reviewer, given, open.signal);
          await noteLane(open, task.assignee);
          open.context.terminal.note(
            `hermes: note: No dispatcher starts a reviewer. Review it by hand: \`hermes kanban approve ${task.seq}\`, \`hermes kanban request-changes ${task.seq} REASON\` or \`hermes kanban claim ${task.seq}\`.`,
          );
          return task;
        },
        formatAssigned,
      ),
    );
  add("approve", "Approve tasks under review; completes them.", ["hermes kanban approve 12"])
    .argument("<tasks...>")
    .option("--result <text>", "short result, for all tasks")
    .action(
      onTasks(
        kanbanContext,
        async (open, id, { result }: { result?: string }) => {
          const completion = { approval: true, ...withoutUndefined({ result }) };
          const task = await open.client.complete(id, completion, open.signal);
          await cleanUpAfter(open, id);
          return task;
        },
        (task) => `${escapedName(task)} is approved and done.`,
      ),
    );
  add("request-changes", "Return a task under review to its assignee; the reason is added as a comment.", [
    "hermes kanban request-changes 12 the tests are missing",
  ])
    .argument("<task>")
    .argument("<reason...>")
    .action(
      onTasks(
        kanbanContext,
        ({ client, signal }, id, reason: readonly string[]) =>
          client.requestChanges(id, reason.join(" "), signal),
        formatAssigned,
      ),
    );
}

function formatAssigned(task: Task): string {
  return `${escapedName(task)} is ${describeStatus(task.status)}, ${describeAssignee(task)}.`;
}
