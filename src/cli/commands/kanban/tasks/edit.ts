import { Option } from "commander";
import { requireProvider } from "../../../../app/board.ts";
import type { TaskEdit } from "../../../../board/operations/tasks/edit-task.ts";
import type { Task } from "../../../../board/task.ts";
import { describeStatus } from "../../../../board/transitions.ts";
import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import { parseCount } from "../../../parse-option.ts";
import {
  type JsonOption,
  type KanbanContext,
  type OpenBoardContext,
  withBoard,
  withTasks,
} from "../kanban-context.ts";
import { type BodyOptions, parseObject, parseWhole, type ResultOptions, readBody } from "../parse.ts";
import { describeAssignee, noteLane, onBoard, onTasks, reportTask } from "../verb.ts";
import { escapedName } from "../views/event-line.ts";

interface EditOptions extends BodyOptions, ResultOptions {
  readonly title?: string;
  readonly priority?: number;
}

interface CommentOptions extends JsonOption {
  readonly author?: string;
  readonly maxLen?: number;
}

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("assign", "Assign a task to a profile.", [
    "hermes kanban assign 12 coder",
    "hermes kanban assign 12 none",
  ])
    .argument("<task>")
    .argument("<profile>", "profile name, or none to unassign")
    .action(
      onTasks(
        kanbanContext,
        async (open, id, profile: string) => {
          const task = await open.client.assign(id, profile, undefined, open.signal);
          await noteLane(open, task.assignee);
          return task;
        },
        (task) => `${escapedName(task)} is now ${describeAssignee(task)}.`,
      ),
    );
  add("edit", "Edit the fields of a task.", [
    'hermes kanban edit 12 --title "Fix the login form" --priority 9',
    'hermes kanban edit 12 --result "shipped in 1.4"',
  ])
    .argument("<task>")
    .option("--title <text>", "new title, of an open task")
    .addOption(new Option("--body <text>", "new description, of an open task").conflicts("bodyFile"))
    .option("--body-file <file>", "read the body from a file (use - for standard input)")
    .option("--priority <number>", "higher runs first", parseWhole)
    .option("--result <text>", "new result, of a task that is done")
    .option("--summary <text>", "new summary of its last run")
    .option("--metadata <json>", "JSON object stored with the summary", parseObject)
    .action(
      onTasks(
        kanbanContext,
        edit,
        (task, [options]) => `Changed ${Object.keys(editOf(options)).join(", ")} of ${escapedName(task)}.`,
      ),
    );
  add("set-model", "Set the model for the runs of a task.", [
    "hermes kanban set-model 12 gpt-5 --provider openai-api",
    "hermes kanban set-model 12 none",
  ])
    .argument("<task>")
    .argument("<model>", "model name, or none for the profile's model")
    .option("--provider <name>", "provider of that model")
    .action(
      onTasks(
        kanbanContext,
        setModel,
        (task) => `${escapedName(task)} will run with the model ${task.model_override ?? "of its profile"}.`,
      ),
    );
  add("link", "Add a dependency.", ["hermes kanban link 12 13"])
    .argument("<parent>", "task that must be done first")
    .argument("<child>", "task that waits for it")
    .action(onBoard(kanbanContext, link));
  add("unlink", "Remove a dependency.", ["hermes kanban unlink 12 13"])
    .argument("<parent>")
    .argument("<child>")
    .action(onBoard(kanbanContext, unlink));
  add("comment", "Add a comment to a task.", ["hermes kanban comment 12 the staging key is in the vault"])
    .argument("<task>")
    .argument("<text...>")
    .option("--author <name>", "recorded author (default: you)")
    .option("--max-len <count>", "maximum length of the text", parseCount)
    .action((id: string, words: readonly string[], options: CommentOptions) =>
      withBoard(kanbanContext, (open) => comment(open, id, words.join(" "), options), options.author),
    );
  add("hold", "Hold tasks: they do not start until the hold is removed.", [
    "hermes kanban hold 12",
    "hermes kanban hold --off 12",
  ])
    .argument("<tasks...>")
    .option("--off", "remove the hold")
    .action(
      onTasks(
        kanbanContext,
        ({ client, signal }, id, { off = false }: { off?: boolean }) => client.hold(id, !off, signal),
        (task, [{ off }]) =>
          off
            ? `${escapedName(task)} is no longer held; it is ${describeStatus(task.status)}.`
            : `${escapedName(task)} is held.`,
      ),
    );
}

function editOf({ title, body, bodyFile, priority, result, summary, metadata }: EditOptions): TaskEdit {
  return withoutUndefined({ title, body: body ?? bodyFile, priority, result, summary, metadata });
}

async function edit(open: OpenBoardContext, id: string, options: EditOptions): Promise<Task> {
  const wanted = editOf(options);
  if (Object.keys(wanted).length === 0)
    throw new AppError("usage-wrong", "No change was given.", { hint: "See `hermes kanban edit --help`." });
  const body = await readBody(options, open.context);
  return open.client.edit(id, { ...wanted, ...withoutUndefined({ body }) }, open.signal);
}

async function setModel(
  open: OpenBoardContext,
  id: string,
  name: string,
  options: { provider?: string },
): Promise<Task> {
  const isNone = ["none", "-", "null"].includes(name);
  const model = isNone ? null : name;
  const provider = isNone ? null : (options.provider ?? null);
  const { assignee } = (await open.store.show(id, open.signal)).task;
  await requireProvider(open.app, { model, provider, assignee });
  return open.client.edit(id, { modelOverride: model, providerOverride: provider }, open.signal);
}

async function link(
  open: OpenBoardContext,
  first: string,
  second: string,
  options: JsonOption,
): Promise<void> {
  await withTasks(open, [first, second], async (parent, child) => {
    const { changed, demoted } = await open.client.link(parent, child, open.signal);
    const { task } = await open.store.show(child, open.signal);
    const [one, other] = await numbersOf(open, child, parent);
    const sentence = changed ? `${one} now waits for ${other}.` : `${one} already waits for ${other}.`;
    const more = demoted ? " It is no longer ready." : "";
    reportTask(open, { ...task, parent, changed, demoted }, sentence + more, options);
  });
}

async function numbersOf({ store, signal }: OpenBoardContext, ...ids: string[]): Promise<readonly string[]> {
  const names = await store.findTaskNames(ids, signal);
  return ids.map((id) => `#${names.get(id)?.seq}`);
}

async function unlink(
  open: OpenBoardContext,
  first: string,
  second: string,
  options: JsonOption,
): Promise<void> {
  await withTasks(open, [first, second], async (parent, child) => {
    const changed = await open.client.unlink(parent, child, open.signal);
    const { task } = await open.store.show(child, open.signal);
    const [one, other] = await numbersOf(open, child, parent);
    const sentence = changed ? `${one} no longer waits for ${other}` : `${one} did not wait for ${other}`;
    reportTask(
      open,
      { ...task, parent, changed },
      `${sentence}; it is ${describeStatus(task.status)}.`,
      options,
    );
  });
}

async function comment(
  open: OpenBoardContext,
  named: string,
  text: string,
  { maxLen = Number.POSITIVE_INFINITY, ...options }: CommentOptions,
): Promise<void> {
  if (text.length > maxLen)
    throw new AppError(
      "task-input-invalid",
      `The comment is ${text.length} characters long; ${maxLen} are allowed.`,
    );
  await withTasks(open, [named], async (id) => {
    const added = await open.client.comment(id, text, open.signal);
    const { task } = await open.store.show(id, open.signal);
    reportTask(open, { ...task, comment: added }, `Commented on ${escapedName(task)}.`, options);
  });
}
