import { InvalidArgumentError } from "commander";
import { parse } from "yaml";
import { z } from "zod";
import { type PlannedTask, sortPlan } from "../../../../board/operations/create-plan.ts";
import type { NewTask } from "../../../../board/operations/create-task.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { givenOnly } from "../given-only.ts";
import { parseDuration, parseTime, parseWorkspace } from "../parse.ts";
import { readMarkdownPlan, readYamlPlan, type WrittenTask } from "./plan-text.ts";

/** A text that one of the parsers of flags reads. */
const read = <Value>(parser: (text: string) => Value) =>
  z.union([z.string(), z.number()]).transform((given, context) => {
    try {
      return parser(String(given));
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });

const names = z
  .union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))])
  .transform((given) =>
    (Array.isArray(given) ? given : [given]).map((name) => String(name).trim()).filter((name) => name !== ""),
  );

const taskSchema = z.strictObject({
  key: z.string().trim().min(1).optional(),
  title: z.string("a task needs a title").trim().min(1),
  body: z.string().optional(),
  assignee: z.string().nullable().optional(),
  after: names.optional(),
  priority: z.int().optional(),
  tenant: z.string().optional(),
  project: z.string().optional(),
  workspace: read(parseWorkspace).optional(),
  branch: z.string().optional(),
  max_runtime: read(parseDuration).optional(),
  max_retries: z.int().min(1).optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  scheduled_at: read(parseTime).optional(),
  triage: z.boolean().optional(),
  hold: z.boolean().optional(),
  idempotency_key: z.string().optional(),
  done: z.never("it is ticked off already; remove it or untick it").optional(),
});

/** A plan whose tasks all have values that a board takes. */
export interface Plan {
  readonly tasks: readonly PlannedTask[];
  /** What tasks wait for that is not in the plan: the key of the task, and how the other one is called. */
  readonly outside: readonly { readonly key: string; readonly name: string }[];
}

/** Reads a plan in YAML or markdown; throws with every problem of it at once. */
export function parsePlan(text: string, format: "yaml" | "markdown"): Plan {
  const written = format === "yaml" ? readYamlPlan(parseYaml(text)) : readMarkdownPlan(text);
  if (written.length === 0) throw refused(["it has no tasks"]);
  const problems: string[] = [];
  const parsed = written.map((one) => {
    const result = taskSchema.safeParse(one.fields);
    if (result.success) return { ...one, fields: result.data };
    problems.push(...result.error.issues.map((issue) => problemOf(one, issue)));
    return undefined;
  });
  const tasks = parsed.filter((one) => one !== undefined);
  if (problems.length > 0) throw refused(problems);
  const keys = tasks.map(({ fields }) => fields.key ?? fields.title);
  const keyOf = (name: string): string | undefined =>
    keys.find((key) => key === name) ?? keys[tasks.findIndex(({ fields }) => fields.title === name)];
  const outside: { key: string; name: string }[] = [];
  const plan = tasks.map(({ fields, behind, place }, index): PlannedTask => {
    const key = keys[index] ?? "";
    if (keys.indexOf(key) !== index)
      problems.push(`${place}: ${JSON.stringify(key)} is in the plan twice; give one of them a key`);
    const after = (fields.after ?? []).flatMap((name) => {
      const other = keyOf(name);
      if (other === undefined) outside.push({ key, name });
      return other ?? [];
    });
    const outer = behind === undefined ? [] : [keys[behind] ?? ""];
    return { key, after: [...new Set([...outer, ...after])], task: toNewTask(fields) };
  });
  if (problems.length > 0) throw refused(problems);
  sortPlan(plan);
  return { tasks: plan, outside };
}

function toNewTask(fields: z.output<typeof taskSchema>): NewTask {
  const { title, body, assignee, priority, tenant, triage, hold, workspace } = fields;
  const given = {
    body,
    assignee,
    priority,
    tenant,
    triage,
    hold,
    projectId: fields.project,
    branchName: fields.branch,
    maxRuntimeSeconds: fields.max_runtime,
    maxRetries: fields.max_retries,
    modelOverride: fields.model,
    providerOverride: fields.provider,
    scheduledAt: fields.scheduled_at,
    idempotencyKey: fields.idempotency_key,
  };
  return { title, ...workspace, ...givenOnly(given) };
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw refused([messageOf(error).split("\n", 1)[0] ?? ""]);
  }
}

function problemOf({ place, fields }: WrittenTask, { path, message }: z.core.$ZodIssue): string {
  const title = typeof fields["title"] === "string" ? ` (${fields["title"].slice(0, 40)})` : "";
  return `${place}${title}: ${path.length === 0 ? "" : `${path.join(".")}: `}${message}`;
}

export function refused(problems: readonly string[]): AppError {
  return new AppError("task-input-invalid", "The plan was not carried out; nothing was written.", {
    hint: problems.map((problem) => `- ${problem}`).join("\n  "),
  });
}
