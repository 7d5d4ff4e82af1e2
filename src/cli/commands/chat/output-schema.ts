import { readFile } from "node:fs/promises";
import { runInNewContext } from "node:vm";
import type { ErrorObject } from "ajv";
import { AppError, errnoOf, messageOf } from "../../../lib/errors.ts";

/** The JSON Schema of `--output-schema`. */
export interface OutputSchema {
  /** Tells the model the form of its answer. */
  readonly instruction: string;
  /** Returns the JSON of an answer as the model wrote it, or a description of the mismatch for the model. */
  check(answer: string): { readonly json: string } | { readonly problem: string };
}

const MAX_PROBLEMS = 10;
/** A regular expression of the schema can block the process, which then also ignores signals. */
const CHECK_WITHIN_MS = 2_000;

/** Loads a JSON Schema: draft 2020-12, or draft 7 if `$schema` names it. */
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
    throw refuse("it is not a JSON object.");
  const [{ Ajv }, { Ajv2020 }] = await Promise.all([import("ajv"), import("ajv/dist/2020.js")]);
  const isDraft7 = "$schema" in schema && String(schema.$schema).includes("draft-07");
  // `format` is only a hint for the model; every other keyword is checked.
  const ajv = new (isDraft7 ? Ajv : Ajv2020)({ allErrors: true, strict: false, validateFormats: false });
  let validate: ReturnType<typeof ajv.compile>;
  try {
    validate = ajv.compile(schema);
  } catch (error) {
    throw refuse(messageOf(error), error);
  }
  return {
    instruction: `Your final answer must be nothing but one JSON value, without code fences, that matches this JSON Schema:\n${JSON.stringify(schema)}`,
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
      // Returns the model's own text, not the serialised value: a number may have more digits than a double holds.
      try {
        const fits = runInNewContext(
          "check()",
          { check: () => validate(value) },
          { timeout: CHECK_WITHIN_MS },
        );
        return fits ? { json } : { problem: describe(validate.errors ?? []) };
      } catch (error) {
        if (errnoOf(error) !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        return {
          problem: `it took more than ${CHECK_WITHIN_MS / 1_000} s to check, perhaps because of a pattern`,
        };
      }
    },
  };
}

/** The JSON of an answer: the content of its only code fence, or the whole answer. */
function findJson(answer: string): string {
  const [fenced, another] = answer.matchAll(/^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?^```[^\S\n]*$/gm);
  return ((another === undefined ? fenced?.[1] : undefined) ?? answer).trim();
}

/** JSON on one line, with its strings and numbers unchanged. */
export function onOneLine(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}

function describe(errors: readonly ErrorObject[]): string {
  const lines = errors.map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${String(params["additionalProperty"])})` : "";
    return `${instancePath || "the value"} ${message ?? "does not match"}${extra}`;
  });
  return [...new Set(lines)].slice(0, MAX_PROBLEMS).join("; ");
}
