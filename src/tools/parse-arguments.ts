import { jsonrepair } from "jsonrepair";

/**
 * Parses the arguments of a call, including near-JSON: fenced, surrounded by text, with single quotes, trailing commas,
 * Python's constants, or JSON inside a string. Throws `SyntaxError` otherwise. Truncated input is never completed,
 * because half of a command or of a file is not what the model meant.
 */
export function parseArguments(text: string): { readonly value: unknown; readonly isRepaired: boolean } {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return typeof value === "string" && value.trimStart().startsWith("{")
      ? { value: parseArguments(value).value, isRepaired: true }
      : { value, isRepaired: false };
  } catch (error) {
    const object = findObject(text);
    if (object === undefined) throw error;
    try {
      return { value: JSON.parse(jsonrepair(object)), isRepaired: true };
    } catch {
      throw error; // the message of the first parser is easier to understand
    }
  }
}

/** Finds the first complete, non-empty object in a text; braces in single or double quotes do not count. */
function findObject(text: string): string | undefined {
  let start = -1;
  let depth = 0;
  let quote = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quote !== "") {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if (depth > 0 && (character === '"' || character === "'")) quote = character;
    else if (character === "{" || (depth > 0 && character === "[")) {
      if (depth++ === 0) start = at;
    } else if (depth > 0 && (character === "}" || character === "]") && --depth === 0) {
      const object = text.slice(start, at + 1);
      if (/[^\s{}]/.test(object)) return object;
    }
  }
  return undefined;
}
