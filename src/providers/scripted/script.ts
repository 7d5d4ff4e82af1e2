import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import { AppError, messageOf } from "../../lib/errors.ts";
import { FAILURE_KINDS, type FailureKind, FINISH_REASONS } from "../provider.ts";

const failureKinds = Object.keys(FAILURE_KINDS) as [FailureKind, ...FailureKind[]];
const tokens = z.int().min(0).optional();

const answerSchema = z.strictObject({
  reasoning: z.string().default(""),
  text: z.string().default(""),
  tools: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        /** A text is passed on as it is, so that it need not be JSON. */
        input: z.union([z.string(), z.record(z.string(), z.unknown())]).default({}),
      }),
    )
    .default([]),
  /** How many answers in a row are this one. */
  times: z.int().min(1).default(1),
  /** Characters in one piece of the stream, and the pause before each. */
  chunk: z.int().min(1).default(1_000),
  delay_ms: z.int().min(0).default(0),
  finish: z.enum(FINISH_REASONS).optional(),
  usage: z
    .strictObject({
      input: tokens,
      cache_read: tokens,
      cache_write: tokens,
      output: tokens,
      reasoning: tokens,
    })
    .default({}),
  /** Fails instead of ending; what stands above has been streamed by then, with its calls unfinished. */
  fail: z
    .strictObject({
      kind: z.enum(failureKinds),
      message: z.string().optional(),
      status: z.int().optional(),
      retry_after_ms: z.int().min(0).optional(),
      /** Only the first attempts of a process fail; unset means all. */
      attempts: z.int().min(1).optional(),
    })
    .optional(),
});

const scriptSchema = z.strictObject({
  context_tokens: z.int().min(1).optional(),
  answers: z.array(answerSchema).default([]),
  /** Answers counted from the last prompt that contains the text. */
  turns: z.array(z.strictObject({ when: z.string().min(1), answers: z.array(answerSchema) })).default([]),
});

export type ScriptedAnswer = z.infer<typeof answerSchema>;
export type Script = z.infer<typeof scriptSchema>;
export type ScriptInput = z.input<typeof scriptSchema>;

/** A script from plain data; see docs/scripted-model.md. */
export function parseScript(data: unknown, name: string): Script {
  const result = scriptSchema.safeParse(data);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`);
  throw new AppError("script-invalid", `The script ${name} cannot be used: ${problems.join("; ")}.`);
}

/** Reads a script, which is YAML or JSON. */
export async function loadScript(path: string): Promise<Script> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new AppError("file-unreadable", `The script ${path} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  });
  let data: unknown;
  try {
    data = parse(text);
  } catch (cause) {
    throw new AppError("script-invalid", `The script ${path} is not YAML: ${messageOf(cause)}`, { cause });
  }
  return parseScript(data, path);
}
