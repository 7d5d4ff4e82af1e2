import type { z } from "zod";

/**
 * The input with values of the wrong type put right where only one thing can be meant: models send `"5"` for 5, `"true"`
 * for true, a list as its JSON or as its only item. A text stays a text: a command that is a number is no command.
 */
export function coerceInput(value: object, issues: readonly z.core.$ZodIssue[]): object {
  const copy = structuredClone(value);
  for (const issue of issues) {
    if (issue.code !== "invalid_type") continue;
    const key = issue.path.at(-1);
    const holder = issue.path.slice(0, -1).reduce<unknown>(memberOf, copy);
    if (key === undefined || typeof holder !== "object" || holder === null) continue;
    const given: unknown = Reflect.get(holder, key);
    if (typeof given === "string") Reflect.set(holder, key, read(given, issue.expected));
  }
  return copy;
}

function read(text: string, expected: string): unknown {
  if (!["number", "int", "boolean", "array", "object"].includes(expected)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return expected === "array" ? [text] : text; // otherwise it is what it looks like, and will be refused
  }
}

function memberOf(holder: unknown, key: PropertyKey): unknown {
  return typeof holder === "object" && holder !== null ? Reflect.get(holder, key) : undefined;
}
