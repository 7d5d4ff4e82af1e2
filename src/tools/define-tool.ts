import { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import type { Tool, ToolCallContext, ToolResult } from "./tool.ts";

interface ToolSpec<Schema extends z.ZodObject> {
  readonly name: string;
  readonly toolset: string;
  readonly description: string;
  /** Strict: an argument that is not in it is refused. */
  readonly input: Schema;
  readonly mutates: boolean;
  readonly exclusive?: boolean;
  readonly commandsOf?: (input: z.infer<Schema>) => readonly string[];
  run(input: z.infer<Schema>, context: ToolCallContext): Promise<ToolResult>;
}

/** A tool whose input is checked before it runs; what is wrong with it comes back as advice. */
export function defineTool<Schema extends z.ZodObject>(spec: ToolSpec<Schema>): Tool {
  const { name, toolset, description, mutates, exclusive, commandsOf, run } = spec;
  return {
    name,
    toolset,
    description,
    mutates,
    exclusive,
    get inputSchema() {
      return schemaOf(spec.input);
    },
    ...(commandsOf && {
      commandsOf(text: string) {
        const read = readInput(spec.input, text);
        return "input" in read ? commandsOf(read.input) : [];
      },
    }),
    async call(text, context) {
      const read = readInput(spec.input, text);
      if ("advice" in read) return failed(`${name} was not run: ${read.advice}`);
      return run(read.input, context);
    },
  };
}

export function ok(text: string, display?: string): ToolResult {
  return { failed: false, text, display };
}

export function failed(text: string, display?: string): ToolResult {
  return { failed: true, text, display };
}

/** An answer in JSON, which models read most reliably; what is undefined is left out. */
export function okJson(value: Readonly<Record<string, unknown>>, display?: string): ToolResult {
  return ok(JSON.stringify(value), display);
}

export function failedJson(value: Readonly<Record<string, unknown>>): ToolResult {
  return failed(JSON.stringify(value));
}

function schemaOf(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input" });
  return schema;
}

type Read<Input> = { readonly input: Input } | { readonly advice: string };

function readInput<Schema extends z.ZodObject>(schema: Schema, text: string): Read<z.infer<Schema>> {
  let value: unknown;
  try {
    value = JSON.parse(text === "" ? "{}" : text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { advice: `its arguments are not valid JSON (${reason}). Send the call again with valid JSON.` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { advice: "its arguments must be one JSON object." };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { input: parsed.data };
  const known = Object.keys(schema.shape);
  const problems = parsed.error.issues.map((issue) => describeIssue(issue, value, known));
  return { advice: `${problems.join("; ")}. Its arguments are: ${known.join(", ")}.` };
}

function describeIssue(issue: z.core.$ZodIssue, value: object, known: readonly string[]): string {
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    return issue.keys
      .map((key) => {
        const near = closest(key, known);
        return `there is no argument "${key}"${near === undefined ? "" : `, did you mean "${near}"?`}`;
      })
      .join("; ");
  }
  const path = issue.path.map(String).join(".");
  const [first] = issue.path;
  if (issue.path.length === 1 && typeof first === "string" && !(first in value)) {
    return `the argument "${first}" is missing (it may have been dropped on the way; send the whole call again)`;
  }
  return path === "" ? issue.message : `"${path}": ${issue.message}`;
}
