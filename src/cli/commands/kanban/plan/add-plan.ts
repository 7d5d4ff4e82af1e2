import { Option } from "commander";
import { requireStartable } from "../../../../app/board.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { AddVerb } from "../../../define-command.ts";
import { type JsonOption, type KanbanContext, withBoard, withTasks } from "../kanban-context.ts";
import { readText } from "../parse.ts";
import { noteLane } from "../verb.ts";

interface PlanOptions extends JsonOption {
  readonly format?: "yaml" | "markdown";
  readonly dryRun?: boolean;
}

const PAGE = `
A Markdown plan is a list. A nested item waits for its parent item, a numbered
item for the previous number. Text below an item is its body:
  - Design the API @architect
    List all errors that a caller can get.
    - Build the server @coder !5
    - Write the manual @writer
  - Release @coder (after: Build the server, Write the manual)
In YAML, each task has a title and, optionally, key, body, assignee, after,
priority, tenant, project, workspace, branch, max_runtime, max_retries, model,
provider, scheduled_at, triage, hold, idempotency_key, and nested tasks.
Fields next to the list apply to all tasks. \`after\` takes keys, titles and
numbers of existing tasks (#12).`;

export function addVerbs(kanbanContext: KanbanContext, add: AddVerb): void {
  add("plan", "Create a graph of tasks from one file, in one transaction.", [
    "hermes kanban plan shop.md --dry-run",
    "hermes kanban plan shop.yaml",
  ])
    .argument("<file>", "YAML or Markdown file (use - for standard input)")
    .addOption(
      new Option("--format <format>", "format of the file (default: by its extension)").choices([
        "yaml",
        "markdown",
      ]),
    )
    .option("--dry-run", "check the plan and print its tree, without creating tasks")
    .action((file: string, options: PlanOptions) => plan(kanbanContext, file, options))
    .addHelpText("after", PAGE);
}

async function plan(
  kanbanContext: KanbanContext,
  file: string,
  { format, dryRun = false, json }: PlanOptions,
): Promise<void> {
  const { terminal } = kanbanContext.context;
  const [{ parsePlan, invalidPlan }, { renderPlan }] = await Promise.all([
    import("./parse-plan.ts"),
    import("./plan-tree.ts"),
  ]);
  const text = await readText(file, kanbanContext.context);
  const { tasks, outsideDependencies, locations } = parsePlan(
    text,
    format ?? (/\.ya?ml$/i.test(file) ? "yaml" : "markdown"),
  );
  await withBoard(kanbanContext, async (open) => {
    const ids = new Map<string, string>();
    const problems: string[] = [];
    const attempt = (location: string, check: () => Promise<void>): Promise<void> =>
      check().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        problems.push(`${location}: ${error.message} ${error.hint}`);
      });
    for (const { name, location } of outsideDependencies)
      await attempt(`${location}: after`, async () => {
        const find = async (id: string) => (await open.store.show(id, open.signal)).task.id;
        ids.set(name, await withTasks(open, [name], find));
      });
    for (const [index, { task }] of tasks.entries())
      await attempt(locations[index] ?? "", () => requireStartable(open, task, open.signal));
    if (problems.length > 0) throw invalidPlan(problems);
    const resolved = tasks.map(({ task, ...one }) => {
      const parents = outsideDependencies
        .filter(({ key }) => key === one.key)
        .flatMap(({ name }) => ids.get(name) ?? []);
      return { ...one, task: { ...task, parents } };
    });
    const made = dryRun ? undefined : await open.client.plan(resolved, open.signal);
    for (const name of new Set(tasks.map(({ task }) => task.assignee))) await noteLane(open, name);
    if (json) {
      const rows = made?.map(({ task, created }, index) => ({ ...task, key: tasks[index]?.key, created }));
      return terminal.printJson(rows ?? tasks);
    }
    const all = made?.map(({ task }) => task);
    terminal.print(renderPlan(tasks, all, terminal));
    const known = made?.filter(({ created }) => !created).length ?? 0;
    if (made === undefined) terminal.note(`${countOf(tasks.length)}; nothing was written.`);
    else
      terminal.note(
        `Created ${countOf(made.length - known)}${known === 0 ? "" : `; ${known} already existed (same idempotency key)`}.`,
      );
  });
}

function countOf(tasks: number): string {
  return tasks === 1 ? "1 task" : `${tasks} tasks`;
}
