import type { Command } from "commander";
import type { Task } from "../../../board/task.ts";
import { withExamples } from "../../define-command.ts";
import { changeTasks, tellTask } from "./change-tasks.ts";
import { cleanUpAfter } from "./clean-up-after.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "./desk.ts";
import { shownName } from "./event-line.ts";
import { givenOnly } from "./given-only.ts";
import { noteLane } from "./lane.ts";
import { parseObject } from "./parse.ts";

interface ReviewOptions extends JsonOption {
  readonly reviewer: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The verbs of a review. */
export function addReview(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("request-review", "Hand the work of a task to a reviewer.")
      .argument("<task>")
      .requiredOption("--reviewer <profile>", "who reviews it; not who did it")
      .option("--summary <text>", "what was done")
      .option("--metadata <json>", "an object that belongs to the summary", parseObject)
      .action((id: string, options: ReviewOptions) => requestReview(desk, id, options)),
    ['hermes kanban request-review 12 --reviewer reviewer --summary "PR 12"'],
  );
  withExamples(
    add("approve", "Complete tasks that are under review.")
      .argument("<tasks...>")
      .option("--result <text>", "a short line, for all of them")
      .action((ids: readonly string[], options: JsonOption & { result?: string }) =>
        approve(desk, ids, options),
      ),
    ["hermes kanban approve 12"],
  );
  withExamples(
    add("request-changes", "Send a task under review back to whoever did it; the reason becomes a comment.")
      .argument("<task>")
      .argument("<reason...>")
      .action((id: string, words: readonly string[], options: JsonOption) =>
        requestChanges(desk, id, words.join(" "), options),
      ),
    ["hermes kanban request-changes 12 the tests are missing"],
  );
}

const isFor = (task: Task): string =>
  `${shownName(task)} is ${task.status}, for ${task.assignee ?? "nobody"}.`;

async function requestReview(desk: Desk, text: string, options: ReviewOptions): Promise<void> {
  const { reviewer, summary, metadata } = options;
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], (id) =>
      open.client.requestReview(id, reviewer, givenOnly({ summary, metadata }), open.signal),
    );
    await noteLane(open, task.assignee);
    tellTask(open, task, isFor(task), options);
  });
}

async function approve(
  desk: Desk,
  ids: readonly string[],
  { result, ...options }: JsonOption & { result?: string },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = async (id: string): Promise<Task> => {
      const task = await open.client.complete(id, { approval: true, ...givenOnly({ result }) }, open.signal);
      await cleanUpAfter(open, id);
      return task;
    };
    return changeTasks(
      open,
      { ids, change, say: (task) => `${shownName(task)} is approved and done.` },
      options,
    );
  });
}

async function requestChanges(desk: Desk, text: string, reason: string, options: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], (id) => open.client.requestChanges(id, reason, open.signal));
    tellTask(open, task, isFor(task), options);
  });
}
