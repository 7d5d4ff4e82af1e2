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
        /** A string is used as it is, so that a script can contain invalid JSON. */
        input: z.union([z.string(), z.record(z.string(), z.unknown())]).default({}),
      }),
    )
    .default([]),
  /** How many times in a row this answer is given. */
  times: z.int().min(1).default(1),
  /** Characters per piece of the stream; `delay_ms` is the pause before each piece. */
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
  /** Fails after streaming the content above, with its calls unfinished. */
  fail: z
    .strictObject({
      kind: z.enum(failureKinds),
      message: z.string().optional(),
      status: z.int().optional(),
      retry_after_ms: z.int().min(0).optional(),
      /** How many attempts of a process fail; unset means all. */
      attempts: z.int().min(1).optional(),
    })
    .optional(),
});

const scriptSchema = z.strictObject({
  context_tokens: z.int().min(1).optional(),
  answers: z.array(answerSchema).default([]),
  /** Answers that are counted from the last prompt that contains `when`. */
  turns: z.array(z.strictObject({ when: z.string().min(1), answers: z.array(answerSchema) })).default([]),
});

export type ScriptedAnswer = z.infer<typeof answerSchema>;
export type Script = z.infer<typeof scriptSchema>;
export type ScriptInput = z.input<typeof scriptSchema>;

/** Parses a script; see docs/scripted-model.md. */
export function parseScript(data: unknown, name: string): Script {
  const result = scriptSchema.safeParse(data);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.join(".") || "script"}: ${message}`,
  );
  throw new AppError("script-invalid", `The script ${name} cannot be used: ${problems.join("; ")}.`);
}

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
