import { readFile } from "node:fs/promises";
import type { ErrorObject } from "ajv";
import { AppError, messageOf } from "../../../lib/errors.ts";

/** What `--output-schema` asks of an answer. */
export interface OutputSchema {
  /** For the model: what its answer has to look like. */
  readonly words: string;
  /** The JSON of an answer as the model wrote it, or why it does not fit, in words for the model. */
  check(answer: string): { readonly json: string } | { readonly problem: string };
}

const MOST_PROBLEMS = 10;

/** Loads a JSON Schema: draft 2020-12, or draft 7 where it says so. */
export async function loadOutputSchema(path: string): Promise<OutputSchema> {
  const refuse = (why: string, cause?: unknown): AppError =>
    new AppError("usage-wrong", `The output schema ${path} cannot be used: ${why}`, {
      hint: "Give a file with a JSON Schema of draft 7 or 2020-12.",
      cause,
    });
  let schema: unknown;
  try {
    schema = JSON.parse((await readFile(path, "utf8")).replace(/^\uFEFF/, ""));
  } catch (error) {
    throw refuse(messageOf(error), error);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw refuse("it is no JSON object.");
  const [{ Ajv }, { Ajv2020 }] = await Promise.all([import("ajv"), import("ajv/dist/2020.js")]);
  const isDraft7 = "$schema" in schema && String(schema.$schema).includes("draft-07");
  // Formats are hints for the model; everything else that a schema says is checked.
  const ajv = new (isDraft7 ? Ajv : Ajv2020)({ allErrors: true, strict: false, validateFormats: false });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema);
  } catch (error) {
    throw refuse(messageOf(error), error);
  }
  return {
    words: `Your final answer must be nothing but one JSON value, without code fences, that matches this JSON Schema:\n${JSON.stringify(schema)}`,
    check(answer) {
      const json = findJson(answer);
      let isTooLarge = false;
      let value: unknown;
      try {
        value = JSON.parse(json, (_, member: unknown) => {
          isTooLarge ||= member === Infinity || member === -Infinity;
          return member;
        });
      } catch {
        return { problem: "it is not JSON" };
      }
      if (isTooLarge) return { problem: "a number in it is too large" };
      // Never written anew from the value: a number may have more digits than a value can hold.
      return validate(value) ? { json } : { problem: describe(validate.errors ?? []) };
    },
  };
}

/** The JSON in an answer, also where the model put it into a code fence. */
function findJson(answer: string): string {
  const [, fenced] = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(answer.trim()) ?? [];
  return (fenced ?? answer).trim();
}

/** JSON on one line; what stands in its strings and numbers stays as it is. */
export function onOneLine(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}

function describe(errors: readonly ErrorObject[]): string {
  const lines = errors.map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${String(params["additionalProperty"])})` : "";
    return `${instancePath || "the whole"} ${message ?? "does not fit"}${extra}`;
  });
  return [...new Set(lines)].slice(0, MOST_PROBLEMS).join("; ");
}
