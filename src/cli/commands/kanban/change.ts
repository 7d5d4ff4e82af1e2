import { type Command, Option } from "commander";
import type { TaskEdit } from "../../../board/operations/manage.ts";
import type { Task } from "../../../board/task.ts";
import { AppError } from "../../../lib/errors.ts";
import { withExamples } from "../../define-command.ts";
import { changeTasks, tellTask } from "./change-tasks.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "./desk.ts";
import { shownName } from "./event-line.ts";
import { givenOnly } from "./given-only.ts";
import { noteLane } from "./lane.ts";
import { parseCount, parseObject, parseWhole, readText } from "./parse.ts";
import { requireProvider } from "./require-provider.ts";

interface EditOptions extends JsonOption {
  readonly title?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly priority?: number;
  readonly result?: string;
  readonly summary?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

interface CommentOptions extends JsonOption {
  readonly author?: string;
  readonly maxLen?: number;
}

/** The verbs that change what a task says and whom it belongs to. */
export function addChanges(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("assign", "Give a task to a profile.")
      .argument("<task>")
      .argument("<profile>", "its name, or none, - or null for nobody")
      .action((id: string, profile: string, options: JsonOption) => assign(desk, id, profile, options)),
    ["hermes kanban assign 12 coder", "hermes kanban assign 12 none"],
  );
  withExamples(
    add("edit", "Change what a task says.")
      .argument("<task>")
      .option("--title <text>", "of an open task")
      .addOption(new Option("--body <text>", "of an open task").conflicts("bodyFile"))
      .option("--body-file <file>", "the same from a file, or from standard input for -")
      .option("--priority <number>", "higher comes first", parseWhole)
      .option("--result <text>", "of a task that is done")
      .option("--summary <text>", "what its last run handed over")
      .option("--metadata <json>", "an object that belongs to the summary", parseObject)
      .action((id: string, options: EditOptions) => edit(desk, id, options)),
    [
      'hermes kanban edit 12 --title "Fix the login form" --priority 9',
      'hermes kanban edit 12 --result "shipped in 1.4"',
    ],
  );
  withExamples(
    add("set-model", "Choose the model for the runs of a task.")
      .argument("<task>")
      .argument("<model>", "its name, or none for that of the profile")
      .option("--provider <name>", "the provider of that model")
      .action((id: string, model: string, options: JsonOption & { provider?: string }) =>
        setModel(desk, id, model, options),
      ),
    ["hermes kanban set-model 12 gpt-5 --provider openai-api", "hermes kanban set-model 12 none"],
  );
  withExamples(
    add("link", "Let a task wait for another one.")
      .argument("<parent>", "what has to be done first")
      .argument("<child>", "what waits for it")
      .action((parent: string, child: string, options: JsonOption) => link(desk, parent, child, options)),
    ["hermes kanban link 12 13"],
  );
  withExamples(
    add("unlink", "Let a task wait for another one no longer.")
      .argument("<parent>")
      .argument("<child>")
      .action((parent: string, child: string, options: JsonOption) => unlink(desk, parent, child, options)),
    ["hermes kanban unlink 12 13"],
  );
  withExamples(
    add("comment", "Add a comment to a task.")
      .argument("<task>")
      .argument("<text...>")
      .option("--author <name>", "who is recorded as saying it (default: you)")
      .option("--max-len <count>", "refuse a longer text", parseCount)
      .action((id: string, words: readonly string[], options: CommentOptions) =>
        comment(desk, id, words, options),
      ),
    ["hermes kanban comment 12 the staging key is in the vault"],
  );
  withExamples(
    add("hold", "Keep tasks back: nothing promotes or claims them.")
      .argument("<tasks...>")
      .option("--off", "let them go again")
      .action((ids: readonly string[], options: JsonOption & { off?: boolean }) => hold(desk, ids, options)),
    ["hermes kanban hold 12", "hermes kanban hold --off 12"],
  );
}

async function assign(desk: Desk, text: string, profile: string, options: JsonOption): Promise<void> {
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], (id) =>
      open.client.assign(id, profile, undefined, open.signal),
    );
    await noteLane(open, task.assignee);
    tellTask(open, task, `${shownName(task)} is now for ${task.assignee ?? "nobody"}.`, options);
  });
}

async function edit(desk: Desk, text: string, options: EditOptions): Promise<void> {
  const { title, priority, result, summary, metadata } = options;
  const body = options.bodyFile === undefined ? options.body : await readText(options.bodyFile, desk.context);
  const wanted: TaskEdit = givenOnly({ title, body, priority, result, summary, metadata });
  if (Object.keys(wanted).length === 0)
    throw new AppError("usage-wrong", "Say what to change.", { hint: "See `hermes kanban edit --help`." });
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], (id) => open.client.edit(id, wanted, open.signal));
    tellTask(open, task, `Changed ${Object.keys(wanted).join(", ")} of ${shownName(task)}.`, options);
  });
}

async function setModel(
  desk: Desk,
  text: string,
  model: string,
  { provider, ...options }: JsonOption & { provider?: string },
): Promise<void> {
  const isNone = ["none", "-", "null"].includes(model);
  const wanted = {
    modelOverride: isNone ? null : model,
    providerOverride: isNone ? null : (provider ?? null),
  };
  await atBoard(desk, async (open) => {
    const task = await withTasks(open, [text], async (id) => {
      const { assignee } = (await open.store.show(id, open.signal)).task;
      await requireProvider(open, {
        model: wanted.modelOverride,
        provider: wanted.providerOverride,
        assignee,
      });
      return open.client.edit(id, wanted, open.signal);
    });
    tellTask(
      open,
      task,
      `${shownName(task)} runs with ${task.model_override ?? "the model of its profile"}.`,
      options,
    );
  });
}

async function link(desk: Desk, first: string, second: string, options: JsonOption): Promise<void> {
  await atBoard(desk, (open) =>
    withTasks(open, [first, second], async (parent, child) => {
      const { changed, demoted } = await open.client.link(parent, child, open.signal);
      const { task } = await open.store.show(child, open.signal);
      const [one, other] = await numbersOf(open, child, parent);
      const said = changed ? `${one} now waits for ${other}.` : `${one} waits for ${other} already.`;
      const more = demoted ? " It was ready, and is no longer." : "";
      tellTask(open, { ...task, parent, changed, demoted }, said + more, options);
    }),
  );
}

async function numbersOf({ store, signal }: OpenDesk, ...ids: string[]): Promise<readonly string[]> {
  const names = await store.nameTasks(ids, signal);
  return ids.map((id) => `#${names.get(id)?.seq}`);
}

async function unlink(desk: Desk, first: string, second: string, options: JsonOption): Promise<void> {
  await atBoard(desk, (open) =>
    withTasks(open, [first, second], async (parent, child) => {
      const changed = await open.client.unlink(parent, child, open.signal);
      const { task } = await open.store.show(child, open.signal);
      const [one, other] = await numbersOf(open, child, parent);
      const said = changed ? `${one} no longer waits for ${other}` : `${one} did not wait for ${other}`;
      tellTask(open, { ...task, parent, changed }, `${said}; it is ${task.status}.`, options);
    }),
  );
}

async function comment(
  desk: Desk,
  named: string,
  words: readonly string[],
  { author, maxLen, ...options }: CommentOptions,
): Promise<void> {
  const text = words.join(" ");
  if (maxLen !== undefined && text.length > maxLen) {
    throw new AppError(
      "task-input-invalid",
      `The comment is ${text.length} characters long; ${maxLen} are allowed.`,
    );
  }
  const work = (open: OpenDesk) =>
    withTasks(open, [named], async (id) => {
      const added = await open.client.comment(id, text, open.signal);
      const { task } = await open.store.show(id, open.signal);
      tellTask(open, { ...task, comment: added }, `Commented on ${shownName(task)}.`, options);
    });
  await atBoard(desk, work, author);
}

async function hold(
  desk: Desk,
  ids: readonly string[],
  { off = false, ...options }: JsonOption & { off?: boolean },
): Promise<void> {
  await atBoard(desk, async (open) => {
    const change = (id: string) => open.client.hold(id, !off, open.signal);
    const say = (task: Task) =>
      off ? `${shownName(task)} is let go; it is ${task.status}.` : `${shownName(task)} is held.`;
    await changeTasks(open, { ids, change, say }, options);
  });
}
