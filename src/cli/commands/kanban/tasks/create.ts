import { Option } from "commander";
import { requireStartable } from "../../../../app/board.ts";
import { isAnyAlive } from "../../../../board/dispatcher/live-dispatchers.ts";
import type { NewTask } from "../../../../board/operations/tasks/create-task.ts";
import type { Task } from "../../../../board/task.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import { collect, parseCount } from "../../../parse-option.ts";
import { escapeControls } from "../../../terminal/escape-controls.ts";
import {
  type JsonOption,
  type KanbanContext,
  type OpenBoardContext,
  withBoard,
  withTasks,
} from "../kanban-context.ts";
import {
  type BodyOptions,
  parseDuration,
  parseTime,
  parseWhole,
  parseWorkspace,
  readBody,
  type WorkspaceChoice,
} from "../parse.ts";
import { describeAssignee, noteLane } from "../verb.ts";

interface CreateOptions extends JsonOption, BodyOptions {
  readonly assignee?: string;
  readonly parent?: readonly string[];
  readonly workspace?: WorkspaceChoice;
  readonly branch?: string;
  readonly project?: string;
  readonly tenant?: string;
  readonly priority?: number;
  readonly triage?: boolean;
  readonly hold?: boolean;
  readonly idempotencyKey?: string;
  readonly dedupe?: "open" | "any";
  readonly maxRuntime?: number;
  readonly maxRetries?: number;
  readonly createdBy?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly initialStatus?: "running" | "blocked";
  readonly scheduledAt?: number;
}

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("create", "Create a task.", [
    'hermes kanban create "Fix the login page" --assignee coder --priority 5',
    "hermes kanban create Deploy --parent 12 --max-runtime 30m",
    "git diff | hermes kanban create Review --body-file - --idempotency-key 1.4",
  ])
    .argument("<title...>", "title, in one line")
    .addOption(new Option("--body <text>", "description, with acceptance criteria").conflicts("bodyFile"))
    .option("--body-file <file>", "read the body from a file (use - for standard input)")
    .option("--assignee <profile>", "profile that does the task, or a lane; 'none' leaves it unassigned")
    .option("--parent <task>", "task that must be done first (repeatable)", collect)
    .option("--workspace <where>", "scratch, worktree[:PATH] or dir:PATH (default: scratch)", parseWorkspace)
    .option("--branch <name>", "branch of the worktree")
    .option("--project <id>", "project of the task")
    .option("--tenant <name>", "tenant (default: that of the first parent with a tenant)")
    .option("--priority <number>", "higher runs first (default: 0)", parseWhole)
    .addOption(
      new Option("--triage", "create it in triage, to be described later").conflicts([
        "initialStatus",
        "scheduledAt",
      ]),
    )
    .option("--hold", "do not start it until the hold is removed")
    .option("--idempotency-key <key>", "do nothing if a task with this key exists")
    .addOption(new Option("--dedupe <scope>", "which tasks to search for the key").choices(["any", "open"]))
    .option("--max-runtime <duration>", "time limit of a run, such as 300, 90s, 30m, 2h or 1d", parseDuration)
    .option("--max-retries <count>", "block it after this many failures in a row", parseCount)
    .option("--created-by <name>", "recorded creator (default: you)")
    .option("--model <name>", "model for its runs")
    .option("--provider <name>", "provider of that model")
    .addOption(new Option("--initial-status <status>", "initial status").choices(["running", "blocked"]))
    .option("--scheduled-at <time>", "do not start before this ISO time", parseTime)
    .action((title: readonly string[], options: CreateOptions) =>
      withBoard(kanbanContext, (open) => createOne(open, title, options), options.createdBy),
    );
}

async function createOne(
  open: OpenBoardContext,
  words: readonly string[],
  options: CreateOptions,
): Promise<void> {
  const { client, signal, context } = open;
  const { terminal } = context;
  const wanted = toNewTask({ ...options, title: words.join(" "), body: await readBody(options, context) });
  await requireStartable(open, wanted, signal);
  const { task, created } = await withTasks(open, options.parent ?? [], (...parents) =>
    client.create({ ...wanted, parents }, signal),
  );
  const isLane = await noteLane(open, task.assignee);
  if (!isLane) await noteUndispatched(open, task);
  if (options.json) return terminal.printJson({ ...task, created });
  if (terminal.columns === undefined) return terminal.print(task.id); // for `id=$(hermes kanban create …)`
  const facts = task.assignee === null ? task.status : `${task.status}, ${describeAssignee(task)}`;
  terminal.print(
    `${created ? "Created" : "Already exists:"} #${task.seq} ${escapeControls(task.title)} (${facts}, ${task.id})`,
  );
}

/** Prints a notice if no dispatcher is running that could start the task. */
async function noteUndispatched({ store, signal, context }: OpenBoardContext, task: Task): Promise<void> {
  if (task.status !== "ready" || task.assignee === null) return;
  if (await isAnyAlive(await store.recentDispatchers(signal), signal)) return;
  context.terminal.note(
    `hermes: note: no dispatcher is running for the board ${store.slug}, so #${task.seq} waits. Start one with \`hermes kanban daemon\`.`,
  );
}

/** The fields of a task, as a user or a plan names them. */
type TaskFields = { readonly title: string } & {
  readonly [Name in Exclude<keyof CreateOptions, "parent" | "json" | "bodyFile" | "createdBy">]?:
    | CreateOptions[Name]
    | (Name extends "assignee" ? null : never)
    | undefined;
};

export function toNewTask(fields: TaskFields): NewTask {
  const { title, body, assignee, tenant, priority, triage, hold, idempotencyKey, maxRetries, scheduledAt } =
    fields;
  const given = {
    ...{ body, assignee, tenant, priority, triage, hold, idempotencyKey, maxRetries, scheduledAt },
    branchName: fields.branch,
    projectId: fields.project,
    dedupeScope: fields.dedupe,
    maxRuntimeSeconds: fields.maxRuntime,
    modelOverride: fields.model,
    providerOverride: fields.provider,
    // "running" means ready: every ready task is started.
    initialStatus: fields.initialStatus === "blocked" ? ("blocked" as const) : undefined,
  };
  return { title, ...fields.workspace, ...withoutUndefined(given) };
}
