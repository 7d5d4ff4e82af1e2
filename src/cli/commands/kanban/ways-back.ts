import { type Command, Option } from "commander";
import type { Task } from "../../../board/task.ts";
import { withExamples } from "../../define-command.ts";
import { changeTasks, tellTask } from "./change-tasks.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "./desk.ts";
import { shownName } from "./event-line.ts";
import { givenOnly } from "./given-only.ts";
import { noteLane } from "./lane.ts";
import { readText } from "./parse.ts";

interface SpecifyOptions extends JsonOption {
  readonly title?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly assignee?: string;
}

/** The verbs that bring a task back which waits for a person. */
export function addWaysBack(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("specify", "Write out a task in triage; it then waits for its parents or is ready.")
      .argument("<task>")
      .option("--title <text>", "its new title")
      .addOption(new Option("--body <text>", "all of it, with the acceptance criteria").conflicts("bodyFile"))
      .option("--body-file <file>", "the same from a file, or from standard input for -")
      .option("--assignee <profile>", "who does it; none for nobody")
      .action((id: string, options: SpecifyOptions) => specify(desk, id, options)),
    ['hermes kanban specify 12 --body "Use PostgreSQL 16" --assignee coder'],
  );
  withExamples(
    add("answer", "Answer a task: adds a comment and, if it is blocked or in triage, unblocks it.")
      .argument("<task>")
      .argument("<text...>")
      .action((id: string, words: readonly string[], options: JsonOption) =>
        answer(desk, id, words.join(" "), options),
      ),
    ["hermes kanban answer 12 use PostgreSQL 16"],
  );
  withExamples(
    add("retry", "Try failed tasks again now; their failures are forgotten.")
      .argument("<tasks...>")
      .option("--fresh", "in a new session instead of the one that failed")
      .action((ids: readonly string[], options: JsonOption & { fresh?: boolean }) =>
        retry(desk, ids, options),
      ),
    ["hermes kanban retry 12", "hermes kanban retry --fresh 12"],
  );
  withExamples(
    add("reopen", "Take up tasks again that are done, archived or in review; what came after them waits.")
      .alias("reopen-review")
      .argument("<tasks...>")
      .action((ids: readonly string[], options: JsonOption) => reopen(desk, ids, options)),
    ["hermes kanban reopen 12"],
  );
}

async function specify(desk: Desk, text: string, options: SpecifyOptions): Promise<void> {
  const body = options.bodyFile === undefined ? options.body : await readText(options.bodyFile, desk.context);
  const written = givenOnly({ title: options.title, body, assignee: options.assignee });
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], (id) => open.client.specify(id, written, open.signal));
    await noteLane(open, written.assignee);
    tellTask(open, task, `${shownName(task)} is ${task.status}.`, options);
  });
}

async function answer(desk: Desk, named: string, text: string, options: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [named], (id) => open.client.answer(id, text, open.signal));
    const heard = task.status === "running" ? "its worker reads the answer at its next step" : "answered";
    tellTask(open, task, `${shownName(task)} is ${task.status}: ${heard}.`, options);
  });
}

async function retry(
  desk: Desk,
  ids: readonly string[],
  { fresh = false, ...options }: JsonOption & { fresh?: boolean },
): Promise<void> {
  await atBoard(desk, (open) => {
    const change = (id: string) => open.client.retry(id, { fresh }, open.signal);
    const how = fresh ? " in a new session" : "";
    const say = (task: Task) => `${shownName(task)} is ${task.status} and is tried again${how}.`;
    return changeTasks(open, { ids, change, say }, options);
  });
}

async function reopen(desk: Desk, ids: readonly string[], options: JsonOption): Promise<void> {
  await atBoard(desk, (open) => {
    const change = async (id: string): Promise<Task> => {
      const { task } = await open.store.show(id, open.signal);
      if (task.status === "review") return open.client.reopenReview(id, undefined, open.signal);
      return (await open.client.reopen(id, open.signal)).task;
    };
    return changeTasks(
      open,
      { ids, change, say: (task) => `${shownName(task)} is ${task.status}.` },
      options,
    );
  });
}
