import { Option } from "commander";
import {
  LIST_ORDERS,
  type ListOrder,
  type ListQuery,
} from "../../../../board/operations/views/list-tasks.ts";
import type { Task } from "../../../../board/task.ts";
import { STATUSES, type Status } from "../../../../board/transitions.ts";
import { AppError } from "../../../../lib/errors.ts";
import { withoutUndefined } from "../../../../lib/without-undefined.ts";
import type { AddVerb } from "../../../define-command.ts";
import { parseCount } from "../../../parse-option.ts";
import type { JsonOption, KanbanContext, OpenBoardContext } from "../kanban-context.ts";
import { updateBoard } from "../tasks/claims.ts";
import { onBoard } from "../verb.ts";
import { renderTaskLines } from "./task-lines.ts";

interface ListOptions extends JsonOption {
  readonly mine?: boolean;
  readonly assignee?: string;
  readonly status?: Status;
  readonly tenant?: string;
  readonly session?: string;
  readonly archived?: boolean;
  readonly sort?: ListOrder | "priority-desc";
  readonly limit?: number;
  readonly workflowTemplateId?: string;
  readonly stepKey?: string;
}

const PAGE = 1_000;

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("list", "List tasks, highest priority first.", [
    "hermes kanban list",
    "hermes kanban list --status blocked --sort updated",
    "hermes kanban list --mine --json",
  ])
    .alias("ls")
    .addOption(new Option("--mine", "only tasks of this profile").conflicts("assignee"))
    .option("--assignee <profile>", "only tasks of this assignee (none: unassigned tasks)")
    .addOption(new Option("--status <status>", "only tasks with this status").choices(STATUSES))
    .option("--tenant <name>", "only tasks of this tenant")
    .option("--session <id>", "only tasks created in this session")
    .option("--workflow-template-id <id>", "only tasks of this workflow")
    .option("--step-key <key>", "only tasks at this step of the workflow")
    .option("--archived", "include archived tasks")
    .addOption(
      new Option("--sort <order>", "sort order").choices([...Object.keys(LIST_ORDERS), "priority-desc"]),
    )
    .option("-n, --limit <count>", "maximum number of tasks (default: all)", parseCount)
    .action(onBoard(kanbanContext, listAll));
  add("search", "Search titles, bodies, results and comments.", ["hermes kanban search login page"])
    .argument("<words...>")
    .option("--archived", "include archived tasks")
    .action(onBoard(kanbanContext, search));
}

async function listAll(open: OpenBoardContext, options: ListOptions): Promise<void> {
  const { terminal } = open.context;
  await updateBoard(open);
  const query = queryOf(options, open);
  const tasks = await loadTasks(open, query, options.limit ?? Number.POSITIVE_INFINITY);
  if (options.json) return terminal.printJson(tasks);
  if (tasks.length === 0) {
    const { order: _, includeArchived: __, ...filters } = query;
    const isEmpty = Object.keys(filters).length === 0;
    return terminal.print(
      isEmpty ? "No tasks yet. `hermes kanban create TITLE` adds one." : "No tasks match.",
    );
  }
  terminal.print(renderTaskLines(tasks, await open.store.listDetails(tasks, open.signal), terminal));
}

async function search(
  { store, signal, context: { terminal } }: OpenBoardContext,
  words: readonly string[],
  { archived = false, json }: JsonOption & { archived?: boolean },
): Promise<void> {
  const wanted = words
    .join(" ")
    .split(/\s+/)
    .filter((word) => word !== "");
  if (wanted.length === 0)
    throw new AppError("usage-wrong", "Nothing to search for was given.", {
      hint: "See `hermes kanban search --help`.",
    });
  const found = await store.search(wanted, { archived }, signal);
  if (json) return terminal.printJson(found);
  if (found.length === 0) return terminal.print("No tasks match these words.");
  const tasks = await Promise.all(found.map(async ({ id }) => (await store.show(id, signal)).task));
  terminal.print(renderTaskLines(tasks, await store.listDetails(tasks, signal), terminal));
}

function queryOf(options: ListOptions, { app }: OpenBoardContext): ListQuery {
  const { status, tenant, workflowTemplateId, stepKey, sort } = options;
  return withoutUndefined({
    ...{ status, tenant, workflowTemplateId, stepKey },
    sessionId: options.session,
    includeArchived: options.archived,
    assignee: options.mine ? app.profile.name : options.assignee,
    order: sort === "priority-desc" ? "priority" : sort,
  });
}

async function loadTasks(
  { store, signal }: OpenBoardContext,
  query: ListQuery,
  maxTasks: number,
): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE, maxTasks - tasks.length);
    const page = await store.list({ ...query, limit, ...(after !== undefined && { after }) }, signal);
    tasks.push(...page.tasks);
    after = page.next;
  } while (after !== undefined && tasks.length < maxTasks);
  return tasks;
}
