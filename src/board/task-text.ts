import { AppError } from "../lib/errors.ts";

const TITLE_LENGTH = 500;
const TEXT_LENGTH = 262_144;
const NAME_LENGTH = 200;
const KEY_LENGTH = 500;

export function invalidInput(message: string): AppError {
  return new AppError("task-input-invalid", message);
}

/** Replaces lone surrogates and NUL, which not every database can store; throws when the text is too long. */
export function cleanText(text: string, what: string, max = TEXT_LENGTH): string {
  if (text.length > max)
    throw invalidInput(`The ${what} is ${text.length} characters long; ${max} are allowed.`);
  return text.replace(/\p{Surrogate}|\0/gu, "\uFFFD");
}

/** Like `cleanText`, but trims the text and throws when it is empty. */
export function requireText(text: string, what: string, max = TEXT_LENGTH): string {
  const clean = cleanText(text, what, max).trim();
  if (clean === "") throw invalidInput(`The ${what} is empty.`);
  return clean;
}

/** Like `requireText`, but throws when the text has line breaks. */
export function requireLine(text: string, what: string, max: number): string {
  const line = requireText(text, what, max);
  if (/[\p{Cc}\u2028\u2029]/u.test(line))
    throw invalidInput(`The ${what} has line breaks or control characters.`);
  return line;
}

export function requireTitle(text: string): string {
  return requireLine(text, "title", TITLE_LENGTH);
}

/** A short name such as tenant, model or session; undefined and blank text become null. */
export function optionalName(
  text: string | null | undefined,
  what: string,
  max = NAME_LENGTH,
): string | null {
  if (text === undefined || text === null) return null;
  const name = cleanText(text, what, max).trim();
  if (/\p{Cc}/u.test(name)) throw invalidInput(`The ${what} has control characters.`);
  return name === "" ? null : name;
}

/** An empty key is refused, because the caller expects that it prevents a second task. */
export function optionalKey(text: string | undefined): string | null {
  const key = optionalName(text, "idempotency key", KEY_LENGTH);
  if (key === null && text !== undefined) throw invalidInput("The idempotency key is empty.");
  return key;
}

/** A profile name, trimmed and lower-cased for comparison; `none`, `-` and `null` mean no assignee. */
export function parseAssignee(text: string | null | undefined): string | null {
  const name = optionalName(text, "assignee")?.toLowerCase() ?? null;
  return name === null || ["none", "-", "null"].includes(name) ? null : name;
}

export function requireInteger(value: number, what: string, min: number, max = 2 ** 31 - 1): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalidInput(`The ${what} must be a whole number from ${min} to ${max}.`);
}

/** Serialises an object as JSON; undefined becomes null. */
export function toJson(value: Readonly<Record<string, unknown>> | undefined, what: string): string | null {
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidInput(`The ${what} must be an object.`);
  return cleanText(JSON.stringify(value), what);
}
