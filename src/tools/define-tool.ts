import { z } from "zod";
import { AppError } from "../lib/errors.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";
import { isTooDeep } from "../lib/text/json-depth.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { Effects } from "../policy/decision.ts";
import { type Arguments, mapArguments } from "./model-habits.ts";
import { parseArguments } from "./parse-arguments.ts";
import type { Tool, ToolCallContext, ToolResult } from "./tool.ts";

/** A refusal quotes the model's input, which may be long. */
const MAX_QUOTED_CHARS = 200;

interface ToolSpec<Schema extends z.ZodObject> {
  readonly name: string;
  readonly toolset: string;
  readonly description: string;
  /** Strict: an unknown argument is refused unless it is a known habit of models, which is mapped or ignored. */
  readonly input: Schema;
  /** Arguments that have no effect on this surface: accepted, but not offered to the model. */
  readonly hidden?: readonly string[];
  readonly mutates: boolean;
  readonly exclusive?: boolean;
  readonly effectsOf?: (input: z.infer<Schema>) => Effects;
  run(input: z.infer<Schema>, context: ToolCallContext): Promise<ToolResult>;
  readonly lookUp?: Tool["lookUp"];
  readonly warm?: Tool["warm"];
  /** Formats a refusal; plain text by default. */
  refuse?(message: string, hint: string | undefined): ToolResult;
}

/** Creates a tool that validates its input before it runs. Invalid input and known failures are returned as refusals. */
export function defineTool<Schema extends z.ZodObject>(spec: ToolSpec<Schema>): Tool {
  const { name, toolset, description, mutates, exclusive, effectsOf, run, lookUp, warm } = spec;
  const { refuse = (message, hint) => failed(hint === undefined ? message : `${message} ${hint}`) } = spec;
  return {
    name,
    toolset,
    description,
    mutates,
    exclusive,
    get inputSchema() {
      return createToolSchema(spec.input, spec.hidden);
    },
    ...(effectsOf && {
      effectsOf(text: string) {
        const read = parseInput(spec, text);
        // A call with invalid input is refused before it does anything.
        return "input" in read ? effectsOf(read.input) : { changesNothing: true };
      },
    }),
    ...(lookUp && { lookUp }),
    ...(warm && { warm }),
    async call(text, context) {
      const read = parseInput(spec, text);
      if ("refusal" in read) return refuse(`${name} was not run: ${read.refusal}`, undefined);
      try {
        const result = await run(read.input, context);
        return read.note === undefined ? result : { ...result, text: `${result.text}\n\n[${read.note}]` };
      } catch (error) {
        if (context.signal.aborted) return failed("Stopped before the call had a result.");
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

/** A JSON result, which models read most reliably; undefined values are omitted. */
export function okJson(value: Readonly<Record<string, unknown>>, display?: string): ToolResult {
  return ok(JSON.stringify(value), display);
}

export function failedJson(value: Readonly<Record<string, unknown>>): ToolResult {
  return failed(JSON.stringify(value));
}

type ParsedInput<Input> =
  | { readonly input: Input; readonly note: string | undefined }
  | { readonly refusal: string };

function parseInput<Schema extends z.ZodObject>(
  { name: tool, input: schema, hidden = [] }: Pick<ToolSpec<Schema>, "name" | "input" | "hidden">,
  text: string,
): ParsedInput<z.infer<Schema>> {
  let sent: unknown;
  let isRepaired = false;
  try {
    ({ value: sent, isRepaired } = parseArguments(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      refusal: `its arguments are not valid JSON (${shorten(reason, MAX_QUOTED_CHARS)}). Send the whole call again with valid JSON.`,
    };
  }
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
    return { refusal: "its arguments must be one JSON object." };
  }
  if (isTooDeep(sent)) return { refusal: "its arguments are nested too deeply." };
  const known = Object.keys(schema.shape);
  const offered = known.filter((argument) => !hidden.includes(argument));
  const { input, unknown } = mapArguments(tool, unwrapArguments(sent as Arguments, known), known);
  // A misspelt argument is refused, not ignored, and so is every unknown argument that a JSON repair produced.
  const kept = isRepaired ? unknown : unknown.filter((key) => findClosest(key, known) !== undefined);
  const given = { ...withoutNulls(schema, input), ...Object.fromEntries(kept.map((key) => [key, true])) };
  const lowered: string[] = [];
  let parsed = schema.safeParse(given);
  let value: Arguments = given;
  // Twice, because the bounds of a value are checked only after its type is right.
  for (let round = 0; !parsed.success && round < 2; round++) {
    const { issues } = parsed.error;
    value = fitOptional(schema, round === 0 ? coerceInput(value, issues) : value, issues, lowered);
    parsed = schema.safeParse(value);
  }
  if (parsed.success) {
    const notes = [
      formatIgnored(tool, unknown, offered),
      ...lowered.map((what) => `${tool} accepts ${what}`),
    ];
    const note = notes.filter((one) => one !== undefined).join(" ");
    return { input: parsed.data, note: note === "" ? undefined : note };
  }
  const problems = parsed.error.issues.map((issue) => describeIssue(issue, given, known));
  return { refusal: `${problems.join("; ")}. Its arguments are: ${offered.join(", ")}.` };
}

/** Some models send `{"arguments": {…}}` or `{"parameters": {…}}`, as in Llama's template. */
function unwrapArguments(value: Arguments, known: readonly string[]): Arguments {
  const [key, ...others] = Object.keys(value).filter((one) => one !== "name");
  const inner = key === undefined ? undefined : value[key];
  const isWrapper = others.length === 0 && /^(?:arguments|parameters|args)$/.test(key ?? "");
  return isWrapper && !known.includes(key ?? "") && typeof inner === "object" && inner !== null
    ? (inner as Arguments)
    : value;
}

/** Models that must fill in every argument send null for unused ones (OpenAI's strict mode). */
function withoutNulls(schema: z.ZodObject, input: Arguments): Arguments {
  return Object.fromEntries(
    Object.entries(input).filter(
      ([key, value]) => value !== null || !schema.shape[key]?.safeParse(undefined).success,
    ),
  );
}

/**
 * Omits optional arguments that a model filled in with an empty value that is out of bounds (`""` or 0: GPT and Gemini fill in
 * all arguments). Lowers numbers above a maximum, and adds a sentence about each to `lowered`.
 */
function fitOptional(
  schema: z.ZodObject,
  input: Arguments,
  issues: readonly z.core.$ZodIssue[],
  lowered: string[],
): Arguments {
  const fitted: Record<string, unknown> = { ...input };
  for (const issue of issues) {
    const [key] = issue.path;
    if (issue.path.length !== 1 || typeof key !== "string") continue;
    if (!schema.shape[key]?.safeParse(undefined).success) continue;
    const value = fitted[key];
    if (value === "" || (value === 0 && issue.code === "too_small")) delete fitted[key];
    else if (issue.code === "too_big" && typeof value === "number") {
      fitted[key] = Number(issue.maximum);
      lowered.push(`at most ${issue.maximum} for "${key}", so ${issue.maximum} was used.`);
    }
  }
  return fitted;
}

function formatIgnored(
  tool: string,
  unknown: readonly string[],
  known: readonly string[],
): string | undefined {
  if (unknown.length === 0) return undefined;
  const names = unknown.map((key) => JSON.stringify(shorten(key, MAX_QUOTED_CHARS))).join(", ");
  return `${tool} has no argument ${names}, so it was ignored. Its arguments are: ${known.join(", ")}.`;
}

function describeIssue(issue: z.core.$ZodIssue, value: object, known: readonly string[]): string {
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    return issue.keys
      .map((key) => {
        const near = findClosest(key, known);
        return `there is no argument "${shorten(key, MAX_QUOTED_CHARS)}"${near === undefined ? "" : `, did you mean "${near}"?`}`;
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

/** The JSON Schema of a tool's input for the model: names, types, choices and meaningful bounds only. */
function createToolSchema(input: z.ZodObject, hidden: readonly string[] = []): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    override: ({ jsonSchema }) => minimize(jsonSchema),
  });
  for (const name of hidden) delete schema.properties?.[name];
  return schema;
}

/** Every request pays for the schema, so constraints that a refusal explains anyway are omitted. */
function minimize(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.additionalProperties;
  delete schema.propertyNames;
  if (schema.minLength === 1) delete schema.minLength;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  // In every tool, an omitted argument means off or none, so these defaults carry no information.
  const { default: value } = schema;
  if (value === false || value === "" || (Array.isArray(value) && value.length === 0)) delete schema.default;
}

/**
 * Converts values of the wrong type where the intent is unambiguous: models send `"5"` for 5, `"true"` for true, and a
 * list as JSON text or as its only item. A number is not converted to text: a number is never a valid command.
 */
function coerceInput(value: Arguments, issues: readonly z.core.$ZodIssue[]): Arguments {
  const copy = structuredClone(value);
  for (const issue of issues) {
    if (issue.code !== "invalid_type") continue;
    const key = issue.path.at(-1);
    const holder = issue.path.slice(0, -1).reduce<unknown>(memberOf, copy);
    if (key === undefined || typeof holder !== "object" || holder === null) continue;
    const given: unknown = Reflect.get(holder, key);
    if (typeof given === "string") Reflect.set(holder, key, convert(given, issue.expected));
  }
  return copy;
}

function convert(text: string, expected: string): unknown {
  if (!["number", "int", "boolean", "array", "object"].includes(expected)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return expected === "array" ? [text] : text; // unchanged text fails validation
  }
}

function memberOf(holder: unknown, key: PropertyKey): unknown {
  return typeof holder === "object" && holder !== null ? Reflect.get(holder, key) : undefined;
}
