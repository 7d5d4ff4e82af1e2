import { type Command, Option } from "commander";
import { AppError } from "../../../../lib/errors.ts";
import { withExamples } from "../../../define-command.ts";
import { atBoard, type Desk, type JsonOption, withTasks } from "../desk.ts";
import { noteLane } from "../lane.ts";
import { readText } from "../parse.ts";
import { requireProvider } from "../require-provider.ts";
import { requireRepository } from "../require-repository.ts";

interface PlanOptions extends JsonOption {
  readonly format?: "yaml" | "markdown";
  readonly dryRun?: boolean;
}

const PAGE = `
A plan in markdown is a list. An item below another one waits for it, a numbered
one for the number before; text below an item is its body:
  - Design the API @architect
    With all errors that a caller can get.
    - Build the server @coder !5
    - Write the manual @writer
  - Release @coder (after: Build the server, Write the manual)
In YAML each task has a title and, if you like, key, body, assignee, after,
priority, tenant, project, workspace, branch, max_runtime, max_retries, model,
provider, scheduled_at, triage, hold, idempotency_key, and tasks that wait for it.
What stands beside the list is for all tasks. \`after\` takes keys, titles and
numbers of tasks that are there already (#12).`;

export function addPlan(desk: Desk, add: (name: string, description: string) => Command): void {
  withExamples(
    add("plan", "Make a whole graph of tasks from one file, all of it or nothing.")
      .argument("<file>", "YAML or markdown; - for standard input")
      .addOption(
        new Option("--format <format>", "what the file is (default: by its name)").choices([
          "yaml",
          "markdown",
        ]),
      )
      .option("--dry-run", "check it and print the tree only")
      .action((file: string, options: PlanOptions) => plan(desk, file, options))
      .addHelpText("after", PAGE),
    ["hermes kanban plan shop.md --dry-run", "hermes kanban plan shop.yaml"],
  );
}

async function plan(desk: Desk, file: string, { format, dryRun = false, json }: PlanOptions): Promise<void> {
  const { terminal } = desk.context;
  const [{ parsePlan, refused }, { renderPlan }] = await Promise.all([
    import("./parse-plan.ts"),
    import("./plan-tree.ts"),
  ]);
  const text = await readText(file, desk.context);
  const { tasks, outside, places } = parsePlan(
    text,
    format ?? (/\.ya?ml$/i.test(file) ? "yaml" : "markdown"),
  );
  await atBoard(desk, async (open) => {
    const ids = new Map<string, string>();
    const problems: string[] = [];
    const attempt = (place: string, check: () => Promise<void>): Promise<void> =>
      check().catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        problems.push(`${place}: ${error.message} ${error.hint}`);
      });
    for (const { name, place } of outside)
      await attempt(`${place}: after`, async () => {
        const find = async (id: string) => (await open.store.show(id, open.signal)).task.id;
        ids.set(name, await withTasks(open, [name], find));
      });
    for (const [index, { task }] of tasks.entries())
      await attempt(places[index] ?? "", async () => {
        await requireRepository(open, task);
        const { modelOverride: model, providerOverride: provider, assignee } = task;
        await requireProvider(open, { model, provider, assignee });
      });
    if (problems.length > 0) throw refused(problems);
    const resolved = tasks.map(({ task, ...one }) => {
      const parents = outside.filter(({ key }) => key === one.key).flatMap(({ name }) => ids.get(name) ?? []);
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
        `Made ${countOf(made.length - known)}${known === 0 ? "" : `; ${known} had an idempotency key that was known already`}.`,
      );
  });
}

function countOf(tasks: number): string {
  return tasks === 1 ? "1 task" : `${tasks} tasks`;
}
