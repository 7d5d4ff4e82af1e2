import { jsonrepair } from "jsonrepair";

/**
 * The arguments of a call as a value, also when they are only nearly JSON: fenced, with words around them, single quotes,
 * trailing commas, Python's constants, or JSON within a text. Throws `SyntaxError` otherwise. A text that ends in the
 * middle of something is never completed: half of a command or of a file is not what was meant.
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
      throw error; // what the first parser says is easier to understand
    }
  }
}

/** The first object in a text that has an end and is not empty; quotes of both kinds are honoured. */
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
