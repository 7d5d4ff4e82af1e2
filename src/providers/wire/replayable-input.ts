import { isTooDeep } from "../../lib/json-depth.ts";

/** The input of a call as an object, because servers refuse a history in which it is none. */
export function replayableInput(input: string): object {
  return parseObject(input) ?? { unparsable_input: input };
}

/** The object that a text is the JSON of; undefined where it is none, or one that could not be written again. */
export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
