import { InvalidArgumentError } from "commander";
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import {
  findSharedKeys,
  type PlannedTask,
  sortPlan,
} from "../../../../board/operations/tasks/create-plan.ts";
import { checkNewTask, type NewTask } from "../../../../board/operations/tasks/create-task.ts";
import { optionalKey } from "../../../../board/task-text.ts";
import { AppError, messageOf } from "../../../../lib/errors.ts";
import { findClosest } from "../../../../lib/text/did-you-mean.ts";
import { parseDuration, parseTime, parseWorkspace } from "../parse.ts";
import { toNewTask } from "../tasks/create.ts";
import { parseMarkdownPlan, parseYamlPlan, type WrittenTask } from "./plan-text.ts";

/** A value that a flag parser parses. */
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
  done: z.never("it is already ticked off; remove it or untick it").optional(),
});

/** A plan whose tasks are all valid. */
export interface Plan {
  readonly tasks: readonly PlannedTask[];
  /** Dependencies on tasks outside the plan: the key and line of the waiting task, and the name of the other task. */
  readonly outsideDependencies: readonly {
    readonly key: string;
    readonly location: string;
    readonly name: string;
  }[];
  readonly locations: readonly string[];
}

/** Parses a plan in YAML or Markdown. Throws one error that lists all problems. */
export function parsePlan(text: string, format: "yaml" | "markdown"): Plan {
  const written = format === "yaml" ? parseYaml(text) : parseMarkdownPlan(text);
  if (written.length === 0) throw invalidPlan(["it has no tasks"]);
  const problems: string[] = [];
  const parsed = written.flatMap((one) => {
    const result = taskSchema.safeParse(one.fields);
    if (result.success) return [{ ...one, fields: result.data, task: taskOf(result.data) }];
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
  if (problems.length > 0) throw invalidPlan(problems);
  for (const shared of findSharedKeys(parsed)) {
    const locations = parsed
      .filter(({ task }) => optionalKey(task.idempotencyKey) === shared)
      .map(({ locationOf }) => locationOf("idempotency_key"));
    problems.push(
      `${[...new Set(locations)].join(" and ")}: idempotency_key: two tasks have ${JSON.stringify(shared)}`,
    );
  }
  const keys = parsed.map(({ fields }) => fields.key ?? fields.title);
  const [firstWithKey, firstWithTitle] = [new Map<string, number>(), new Map<string, number>()];
  for (const [index, { fields }] of [...parsed.entries()].toReversed()) {
    firstWithKey.set(keys[index] ?? "", index);
    firstWithTitle.set(fields.title, index);
  }
  const keyOf = (name: string): string | undefined =>
    firstWithKey.has(name) ? name : keys[firstWithTitle.get(name) ?? -1];
  const outsideDependencies: { key: string; location: string; name: string }[] = [];
  const plan = parsed.map((one, index): PlannedTask => {
    const key = keys[index] ?? "";
    if (firstWithKey.get(key) !== index)
      problems.push(
        `${one.locationOf()}: ${JSON.stringify(key)} occurs twice in the plan; give one of them a key (YAML) or another title`,
      );
    const after = (one.fields.after ?? [])
      .flatMap((text) => namesIn(text, (name) => keyOf(name) !== undefined))
      .flatMap((name) => {
        const other = keyOf(name);
        if (other === undefined) outsideDependencies.push({ key, location: one.locationOf("after"), name });
        return other ?? [];
      });
    const outer = one.predecessor === undefined ? [] : [keys[one.predecessor] ?? ""];
    return { key, after: [...new Set([...outer, ...after])], task: one.task };
  });
  if (problems.length > 0) throw invalidPlan(problems);
  sortPlan(plan);
  return {
    tasks: plan,
    outsideDependencies,
    locations: parsed.map((one) => describe(one)),
  };
}

/** The names of a comma-separated list. A known name may itself contain commas, with or without a space after them. */
function namesIn(text: string, isKnown: (name: string) => boolean): readonly string[] {
  const parts = text.split(",");
  const nameOf = (count: number): string => {
    const name = parts.slice(0, count).join(",").trim();
    const spaced = name.split(/\s*,\s*/).join(", ");
    return !isKnown(name) && isKnown(spaced) ? spaced : name;
  };
  const names: string[] = [];
  while (parts.length > 0) {
    const count = parts.findLastIndex((_, last) => isKnown(nameOf(last + 1))) + 1 || 1;
    names.push(nameOf(count));
    parts.splice(0, count);
  }
  return names.filter((name) => name !== "");
}

function taskOf(fields: z.output<typeof taskSchema>): NewTask {
  const { max_runtime: maxRuntime, max_retries: maxRetries, ...others } = fields;
  const { scheduled_at: scheduledAt, idempotency_key: idempotencyKey } = fields;
  return toNewTask({ ...others, maxRuntime, maxRetries, scheduledAt, idempotencyKey });
}

function parseYaml(text: string): readonly WrittenTask[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  if (document.errors.length > 0)
    throw invalidPlan(
      document.errors.map(({ message }) => (message.split("\n", 1)[0] ?? "").replace(/:$/, "")),
    );
  try {
    return parseYamlPlan(document, lineCounter);
  } catch (error) {
    throw invalidPlan([messageOf(error)]); // too many aliases
  }
}

function describe({ locationOf, fields }: WrittenTask, field?: string): string {
  const title = typeof fields["title"] === "string" ? ` (${fields["title"].slice(0, 40)})` : "";
  return `${locationOf(field)}${title}`;
}

function problemsOf(one: WrittenTask, issue: z.core.$ZodIssue): readonly string[] {
  const [field] = issue.path;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => {
      const near = findClosest(key, Object.keys(taskSchema.shape));
      return `${one.locationOf(key)}: there is no key ${JSON.stringify(key)}${near ? `; did you mean ${near}?` : ""}`;
    });
  return [
    field === undefined
      ? `${describe(one)}: ${issue.message}`
      : `${describe(one, String(field))}: ${issue.path.join(".")}: ${issue.message}`,
  ];
}

export function invalidPlan(problems: readonly string[]): AppError {
  return new AppError("task-input-invalid", "The plan is invalid; no tasks were created.", {
    // A wrong common field causes the same problem in every task.
    hint: [...new Set(problems)].map((problem) => `- ${problem}`).join("\n  "),
  });
}
