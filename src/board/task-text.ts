import { AppError } from "../lib/errors.ts";

const TITLE_LENGTH = 500;
const TEXT_LENGTH = 262_144;
const NAME_LENGTH = 200;
const KEY_LENGTH = 500;

export function invalid(message: string): AppError {
  return new AppError("task-input-invalid", message);
}

/** Text that both databases keep as it is: no half characters, no NUL. Too much is refused, nothing is cut silently. */
export function cleanText(text: string, what: string, max = TEXT_LENGTH): string {
  if (text.length > max) throw invalid(`The ${what} is ${text.length} characters long; ${max} are allowed.`);
  return text.replace(/\p{Surrogate}|\0/gu, "\uFFFD");
}

/** As `cleanText`, trimmed; throws when nothing is left. */
export function requireText(text: string, what: string, max = TEXT_LENGTH): string {
  const clean = cleanText(text, what, max).trim();
  if (clean === "") throw invalid(`The ${what} is empty.`);
  return clean;
}

export function requireTitle(text: string): string {
  const title = requireText(text, "title", TITLE_LENGTH);
  if (/[\p{Cc}\u2028\u2029]/u.test(title)) throw invalid("The title has line breaks or control characters.");
  return title;
}

/** A short name such as tenant, model or session; undefined and blank mean none. */
export function optionalName(
  text: string | null | undefined,
  what: string,
  max = NAME_LENGTH,
): string | null {
  const name = cleanText(text ?? "", what, max).trim();
  if (/\p{Cc}/u.test(name)) throw invalid(`The ${what} has control characters.`);
  return name === "" ? null : name;
}

export function optionalKey(text: string | undefined): string | null {
  return optionalName(text, "idempotency key", KEY_LENGTH);
}

/** A profile's name as it is compared: trimmed and lower-cased; `none`, `-` and `null` mean nobody. */
export function parseAssignee(text: string | null | undefined): string | null {
  const name = optionalName(text, "assignee")?.toLowerCase() ?? null;
  return name === null || ["none", "-", "null"].includes(name) ? null : name;
}

export function requireInteger(value: number, what: string, min: number, max = 2 ** 31 - 1): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalid(`The ${what} must be a whole number from ${min} to ${max}.`);
}

/** JSON of an object, or null for none. */
export function toJson(value: Readonly<Record<string, unknown>> | undefined, what: string): string | null {
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`The ${what} must be an object.`);
  return cleanText(JSON.stringify(value), what);
}
