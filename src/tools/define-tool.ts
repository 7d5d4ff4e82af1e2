import type { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";
import { isTooDeep } from "../lib/json-depth.ts";
import { shorten } from "../lib/shorten.ts";
import { coerceInput } from "./coerce-input.ts";
import { type Arguments, readHabits } from "./model-habits.ts";
import { parseArguments } from "./parse-arguments.ts";
import type { Tool, ToolCallContext, ToolResult } from "./tool.ts";
import { toolSchema } from "./tool-schema.ts";

/** Advice quotes what the model sent, which may be long. */
const MOST_QUOTED = 200;

interface ToolSpec<Schema extends z.ZodObject> {
  readonly name: string;
  readonly toolset: string;
  readonly description: string;
  /** Strict: what is not in it is refused, unless it is a habit of models that can be understood or ignored. */
  readonly input: Schema;
  /** Arguments that cannot work where the tool is offered: understood, but not sent to the model. */
  readonly hidden?: readonly string[];
  readonly mutates: boolean;
  readonly exclusive?: boolean;
  readonly commandsOf?: (input: z.infer<Schema>) => readonly string[];
  run(input: z.infer<Schema>, context: ToolCallContext): Promise<ToolResult>;
  readonly lookUp?: Tool["lookUp"];
  /** The shape of a result that says only why nothing was done; plain words unless given. */
  refuse?(advice: string, hint: string | undefined): ToolResult;
}

/** A tool whose input is checked before it runs. What is wrong with it, and every known failure, comes back as advice. */
export function defineTool<Schema extends z.ZodObject>(spec: ToolSpec<Schema>): Tool {
  const { name, toolset, description, mutates, exclusive, commandsOf, run, lookUp } = spec;
  const { refuse = (advice, hint) => failed(hint === undefined ? advice : `${advice} ${hint}`) } = spec;
  return {
    name,
    toolset,
    description,
    mutates,
    exclusive,
    get inputSchema() {
      return toolSchema(spec.input, spec.hidden);
    },
    ...(commandsOf && {
      commandsOf(text: string) {
        const read = readInput(spec, text);
        return "input" in read ? commandsOf(read.input) : [];
      },
    }),
    ...(lookUp && { lookUp }),
    async call(text, context) {
      const read = readInput(spec, text);
      if ("advice" in read) return refuse(`${name} was not run: ${read.advice}`, undefined);
      try {
        const result = await run(read.input, context);
        return read.note === undefined ? result : { ...result, text: `${result.text}\n\n[${read.note}]` };
      } catch (error) {
        if (context.signal.aborted) return failed("Stopped before it had a result.");
        if (error instanceof AppError) return refuse(error.message, error.hint);
        throw error;
      }
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

type Read<Input> = { readonly input: Input; readonly note: string | undefined } | { readonly advice: string };

function readInput<Schema extends z.ZodObject>(
  { name: tool, input: schema, hidden = [] }: Pick<ToolSpec<Schema>, "name" | "input" | "hidden">,
  text: string,
): Read<z.infer<Schema>> {
  let value: unknown;
  let isRepaired = false;
  try {
    ({ value, isRepaired } = parseArguments(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      advice: `its arguments are not valid JSON (${shorten(reason, MOST_QUOTED)}). Send the whole call again with valid JSON.`,
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { advice: "its arguments must be one JSON object." };
  }
  if (isTooDeep(value)) return { advice: "its arguments are nested too deeply." };
  const known = Object.keys(schema.shape);
  const offered = known.filter((argument) => !hidden.includes(argument));
  const { input, unknown } = readHabits(tool, unwrapped(value as Arguments, known), known);
  // A misspelt argument was surely meant, and a repair that invents arguments is none.
  const kept = isRepaired ? unknown : unknown.filter((key) => closest(key, known) !== undefined);
  const given = { ...withoutNulls(schema, input), ...Object.fromEntries(kept.map((key) => [key, true])) };
  const first = schema.safeParse(given);
  const parsed = first.success ? first : schema.safeParse(coerceInput(given, first.error.issues));
  if (parsed.success) return { input: parsed.data, note: noteOf(tool, unknown, offered) };
  const problems = parsed.error.issues.map((issue) => describeIssue(issue, given, known));
  return { advice: `${problems.join("; ")}. Its arguments are: ${offered.join(", ")}.` };
}

/** Some models send `{"arguments": {…}}` or `{"parameters": {…}}`, as the template of Llama has it. */
function unwrapped(value: Arguments, known: readonly string[]): Arguments {
  const [key, ...others] = Object.keys(value).filter((one) => one !== "name");
  const inner = key === undefined ? undefined : value[key];
  const isWrapper = others.length === 0 && /^(?:arguments|parameters|args)$/.test(key ?? "");
  return isWrapper && !known.includes(key ?? "") && typeof inner === "object" && inner !== null
    ? (inner as Arguments)
    : value;
}

/** Models that fill in every argument send null for those that they do not need (strict mode of OpenAI). */
function withoutNulls(schema: z.ZodObject, input: Arguments): Arguments {
  return Object.fromEntries(
    Object.entries(input).filter(
      ([key, value]) => value !== null || !schema.shape[key]?.safeParse(undefined).success,
    ),
  );
}

function noteOf(tool: string, unknown: readonly string[], known: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined;
  const names = unknown.map((key) => JSON.stringify(shorten(key, MOST_QUOTED))).join(", ");
  return `${tool} has no argument ${names}, so that was ignored. Its arguments are: ${known.join(", ")}.`;
}

function describeIssue(issue: z.core.$ZodIssue, value: object, known: readonly string[]): string {
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    return issue.keys
      .map((key) => {
        const near = closest(key, known);
        return `there is no argument "${shorten(key, MOST_QUOTED)}"${near === undefined ? "" : `, did you mean "${near}"?`}`;
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
