import { type Command, Option } from "commander";
import { LIST_ORDERS, type ListOrder, type ListQuery } from "../../../board/operations/look.ts";
import type { Task } from "../../../board/task.ts";
import { STATUSES, type Status } from "../../../board/transitions.ts";
import { withExamples } from "../../define-command.ts";
import { settle } from "./claims.ts";
import { atBoard, type Desk, type JsonOption, type OpenDesk } from "./desk.ts";
import { givenOnly } from "./given-only.ts";
import { parseCount } from "./parse.ts";
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

export function addList(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("list", "List tasks, the most urgent first.")
      .alias("ls")
      .addOption(new Option("--mine", "only those of this profile").conflicts("assignee"))
      .option("--assignee <profile>", "only those of this profile; none for those of nobody")
      .addOption(new Option("--status <status>", "only those in this column").choices(STATUSES))
      .option("--tenant <name>", "only those of this tenant")
      .option("--session <id>", "only those that came from this session")
      .option("--workflow-template-id <id>", "only those of this workflow")
      .option("--step-key <key>", "only those at this step of it")
      .option("--archived", "also archived ones")
      .addOption(
        new Option("--sort <order>", "in this order").choices([...Object.keys(LIST_ORDERS), "priority-desc"]),
      )
      .option("-n, --limit <count>", "how many at most (default: all)", parseCount)
      .action((options: ListOptions) => listAll(desk, options)),
    [
      "hermes kanban list",
      "hermes kanban list --status blocked --sort updated",
      "hermes kanban list --mine --json",
    ],
  );
  withExamples(
    add("search", "Find tasks by words of their titles, bodies, results and comments.")
      .argument("<words...>")
      .option("--archived", "also archived ones")
      .action((words: readonly string[], options: JsonOption & { archived?: boolean }) =>
        search(desk, words, options),
      ),
    ["hermes kanban search login page"],
  );
}

async function listAll(desk: Desk, options: ListOptions): Promise<void> {
  await atBoard(desk, async (open) => {
    const { terminal } = open.context;
    await settle(open);
    const tasks = await loadTasks(open, queryOf(options, open), options.limit ?? Number.POSITIVE_INFINITY);
    if (options.json) return terminal.printJson(tasks);
    if (tasks.length === 0) return terminal.print("There are no tasks to show.");
    terminal.print(renderTaskLines(tasks, await open.store.glance(tasks, open.signal), terminal));
  });
}

async function search(
  desk: Desk,
  words: readonly string[],
  { archived = false, json }: JsonOption & { archived?: boolean },
): Promise<void> {
  await atBoard(desk, async ({ store, signal, context: { terminal } }) => {
    const found = await store.search(
      words
        .join(" ")
        .split(/\s+/)
        .filter((word) => word !== ""),
      { archived },
      signal,
    );
    if (json) return terminal.printJson(found);
    if (found.length === 0) return terminal.print("No task has these words.");
    const tasks = await Promise.all(found.map(async ({ id }) => (await store.show(id, signal)).task));
    terminal.print(renderTaskLines(tasks, await store.glance(tasks, signal), terminal));
  });
}

function queryOf(options: ListOptions, { app }: OpenDesk): ListQuery {
  const {
    status,
    tenant,
    session: sessionId,
    workflowTemplateId,
    stepKey,
    archived: includeArchived,
  } = options;
  const assignee = options.mine ? app.profile.name : options.assignee;
  const order = options.sort === "priority-desc" ? "priority" : options.sort;
  return givenOnly({
    status,
    tenant,
    sessionId,
    workflowTemplateId,
    stepKey,
    includeArchived,
    assignee,
    order,
  });
}

async function loadTasks(
  { store, signal }: OpenDesk,
  query: ListQuery,
  most: number,
): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  let after: string | undefined;
  do {
    const limit = Math.min(PAGE, most - tasks.length);
    const page = await store.list({ ...query, limit, ...(after !== undefined && { after }) }, signal);
    tasks.push(...page.tasks);
    after = page.next;
  } while (after !== undefined && tasks.length < most);
  return tasks;
}
