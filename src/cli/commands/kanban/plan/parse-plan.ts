import { InvalidArgumentError } from "commander";
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { findSharedKeys, type PlannedTask, sortPlan } from "../../../../board/operations/create-plan.ts";
import { checkNewTask, type NewTask } from "../../../../board/operations/create-task.ts";
import { optionalKey } from "../../../../board/task-text.ts";
import { closest } from "../../../../lib/did-you-mean.ts";
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
  title: z.string("a task needs a title").trim().min(1, "a task needs a title"),
  body: z.string().optional(),
  assignee: z.string("give one profile").nullable().optional(),
  after: names.optional(),
  priority: z.int("give one whole number").optional(),
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
  /** What tasks wait for that is not in the plan: the key of the task, its place, and how the other one is called. */
  readonly outside: readonly { readonly key: string; readonly place: string; readonly name: string }[];
  /** Where each task stands. */
  readonly places: readonly string[];
}

/** Reads a plan in YAML or markdown; throws with every problem of it at once. */
export function parsePlan(text: string, format: "yaml" | "markdown"): Plan {
  const written = format === "yaml" ? parseYaml(text) : readMarkdownPlan(text);
  if (written.length === 0) throw refused(["it has no tasks"]);
  const problems: string[] = [];
  const parsed = written.flatMap((one) => {
    const result = taskSchema.safeParse(one.fields);
    if (result.success) return [{ ...one, fields: result.data, task: toNewTask(result.data) }];
    problems.push(...result.error.issues.flatMap((issue) => problemsOf(one, issue)));
    return [];
  });
  for (const one of parsed)
    try {
      checkNewTask(one.task);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problems.push(`${describe(one)}: ${error.message}`);
    }
  if (problems.length > 0) throw refused(problems);
  for (const shared of findSharedKeys(parsed)) {
    const places = parsed
      .filter(({ task }) => optionalKey(task.idempotencyKey) === shared)
      .map(({ placeOf }) => placeOf("idempotency_key"));
    problems.push(
      `${[...new Set(places)].join(" and ")}: idempotency_key: two tasks have ${JSON.stringify(shared)}`,
    );
  }
  const keys = parsed.map(({ fields }) => fields.key ?? fields.title);
  const keyOf = (name: string): string | undefined =>
    keys.find((key) => key === name) ?? keys[parsed.findIndex(({ fields }) => fields.title === name)];
  const outside: { key: string; place: string; name: string }[] = [];
  const plan = parsed.map((one, index): PlannedTask => {
    const key = keys[index] ?? "";
    if (keys.indexOf(key) !== index)
      problems.push(
        `${one.placeOf()}: ${JSON.stringify(key)} is in the plan twice; give one of them a key (YAML) or another title`,
      );
    const after = (one.fields.after ?? [])
      .flatMap((text) => namesIn(text, (name) => keyOf(name) !== undefined))
      .flatMap((name) => {
        const other = keyOf(name);
        if (other === undefined) outside.push({ key, place: one.placeOf("after"), name });
        return other ?? [];
      });
    const outer = one.behind === undefined ? [] : [keys[one.behind] ?? ""];
    return { key, after: [...new Set([...outer, ...after])], task: one.task };
  });
  if (problems.length > 0) throw refused(problems);
  sortPlan(plan);
  return { tasks: plan, outside, places: parsed.map((one) => describe(one)) };
}

/** The names in a list that is separated by commas, of which a name that is known may have some itself. */
function namesIn(text: string, isKnown: (name: string) => boolean): readonly string[] {
  const parts = text.split(",").map((part) => part.trim());
  const names: string[] = [];
  while (parts.length > 0) {
    const known = parts.findLastIndex((_, end) => isKnown(parts.slice(0, end + 1).join(", ")));
    names.push(parts.splice(0, Math.max(known, 0) + 1).join(", "));
  }
  return names.filter((name) => name !== "");
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

function parseYaml(text: string): readonly WrittenTask[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  if (document.errors.length > 0)
    throw refused(document.errors.map(({ message }) => (message.split("\n", 1)[0] ?? "").replace(/:$/, "")));
  try {
    return readYamlPlan(document, lineCounter);
  } catch (error) {
    throw refused([messageOf(error)]); // names that stand for too much
  }
}

function describe({ placeOf, fields }: WrittenTask, field?: string): string {
  const title = typeof fields["title"] === "string" ? ` (${fields["title"].slice(0, 40)})` : "";
  return `${placeOf(field)}${title}`;
}

function problemsOf(one: WrittenTask, issue: z.core.$ZodIssue): readonly string[] {
  const [field] = issue.path;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => {
      const near = closest(key, Object.keys(taskSchema.shape));
      return `${one.placeOf(key)}: there is no key ${JSON.stringify(key)}${near ? `; did you mean ${near}?` : ""}`;
    });
  return [
    field === undefined
      ? `${describe(one)}: ${issue.message}`
      : `${describe(one, String(field))}: ${issue.path.join(".")}: ${issue.message}`,
  ];
}

export function refused(problems: readonly string[]): AppError {
  return new AppError("task-input-invalid", "The plan was not carried out; nothing was written.", {
    // What stands beside the list is wrong in every task alike.
    hint: [...new Set(problems)].map((problem) => `- ${problem}`).join("\n  "),
  });
}
