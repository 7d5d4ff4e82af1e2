import { type Command, Option } from "commander";
import { isAnyAlive } from "../../../board/dispatcher/living-dispatchers.ts";
import type { NewTask } from "../../../board/operations/create-task.ts";
import type { Task } from "../../../board/task.ts";
import { withExamples } from "../../define-command.ts";
import { escapeControls } from "../../escape-controls.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk, withTasks } from "./desk.ts";
import { givenOnly } from "./given-only.ts";
import { noteLane } from "./lane.ts";
import {
  collect,
  parseCount,
  parseDuration,
  parseTime,
  parseWhole,
  parseWorkspace,
  readText,
  type WorkspaceChoice,
} from "./parse.ts";
import { requireProvider } from "./require-provider.ts";
import { requireRepository } from "./require-repository.ts";

interface CreateOptions extends JsonOption {
  readonly body?: string;
  readonly bodyFile?: string;
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

export function addCreate(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("create", "Make a task.")
      .argument("<title...>", "what is to be done, in one line")
      .addOption(new Option("--body <text>", "all of it, with the acceptance criteria").conflicts("bodyFile"))
      .option("--body-file <file>", "the same from a file, or from standard input for -")
      .option("--assignee <profile>", "who does it; a name that is no profile is a lane; none for nobody")
      .option("--parent <task>", "a task that must be done before; repeatable", collect)
      .option(
        "--workspace <where>",
        "scratch, worktree[:PATH] or dir:PATH (default: scratch)",
        parseWorkspace,
      )
      .option("--branch <name>", "the branch of a worktree")
      .option("--project <id>", "the project it belongs to")
      .option("--tenant <name>", "the tenant (default: that of its first parent which has one)")
      .option("--priority <number>", "higher comes first (default: 0)", parseWhole)
      .addOption(
        new Option("--triage", "it still has to be written out").conflicts(["initialStatus", "scheduledAt"]),
      )
      .option("--hold", "nothing starts it until it is let go")
      .option("--idempotency-key <key>", "do nothing if a task has this key already")
      .addOption(new Option("--dedupe <scope>", "which tasks keep their key").choices(["any", "open"]))
      .option("--max-runtime <duration>", "end a run after 300, 90s, 30m, 2h or 1d", parseDuration)
      .option("--max-retries <count>", "block it at this failure in a row", parseCount)
      .option("--created-by <name>", "who is recorded as its maker (default: you)")
      .option("--model <name>", "the model of its runs")
      .option("--provider <name>", "the provider of that model")
      .addOption(new Option("--initial-status <status>", "where it begins").choices(["running", "blocked"]))
      .option("--scheduled-at <time>", "an ISO time before which it waits", parseTime)
      .action((title: readonly string[], options: CreateOptions) => createOne(desk, title, options)),
    [
      'hermes kanban create "Fix the login page" --assignee coder --priority 5',
      "hermes kanban create Deploy --parent 12 --max-runtime 30m",
      "git diff | hermes kanban create Review --body-file - --idempotency-key 1.4",
    ],
  );
}

async function createOne(desk: Desk, words: readonly string[], options: CreateOptions): Promise<void> {
  const { terminal } = desk.context;
  const body = options.bodyFile === undefined ? options.body : await readText(options.bodyFile, desk.context);
  const work = async (open: OpenDesk): Promise<void> => {
    const wanted = toNewTask(words.join(" "), body, options);
    await requireProvider(open, options);
    await requireRepository(open, wanted);
    const { task, created } = await withTasks(open, options.parent ?? [], (...parents) =>
      open.client.create({ ...wanted, parents }, open.signal),
    );
    const isLane = await noteLane(open, task.assignee);
    if (!isLane) await noteUndispatched(open, task);
    if (options.json) return terminal.printJson({ ...task, created });
    if (terminal.columns === undefined) return terminal.print(task.id); // for `id=$(hermes kanban create …)`
    const facts = [task.status, ...(task.assignee === null ? [] : [`for ${task.assignee}`])].join(", ");
    terminal.print(
      `${created ? "Created" : "There is already"} #${task.seq} ${escapeControls(task.title)} (${facts}, ${task.id})`,
    );
  };
  await atBoard(desk, work, options.createdBy);
}

/** A task that a profile could begin with waits in silence when nobody starts profiles. */
async function noteUndispatched({ store, signal, context }: OpenDesk, task: Task): Promise<void> {
  if (task.status !== "ready" || task.assignee === null) return;
  if (await isAnyAlive(await store.recentDispatchers(signal), signal)) return;
  context.terminal.note(
    `hermes: note: nobody dispatches the board ${store.slug}, so #${task.seq} waits: start \`hermes kanban daemon\`.`,
  );
}

function toNewTask(title: string, body: string | undefined, options: CreateOptions): NewTask {
  const given = {
    body,
    assignee: options.assignee,
    branchName: options.branch,
    projectId: options.project,
    tenant: options.tenant,
    priority: options.priority,
    triage: options.triage,
    hold: options.hold,
    idempotencyKey: options.idempotencyKey,
    dedupeScope: options.dedupe,
    maxRuntimeSeconds: options.maxRuntime,
    maxRetries: options.maxRetries,
    modelOverride: options.model,
    providerOverride: options.provider,
    // "running" is what happens to every task that is ready, so it needs no word of its own.
    initialStatus: options.initialStatus === "blocked" ? ("blocked" as const) : undefined,
    scheduledAt: options.scheduledAt,
  };
  return { title, ...options.workspace, ...givenOnly(given) };
}
