import { isTooDeep } from "../../lib/text/json-depth.ts";
import { TroubleError } from "./trouble-error.ts";

/** An unvalidated object from a vendor. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function findString(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

/** Reads a token count; undefined for any other value, such as a fraction, which could not be stored. */
export function findCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

/** Parses a JSON object; undefined if the text is not one, or if it nests too deeply to be serialized again. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the data of an event; throws a `TroubleError` if it is not a JSON object. */
export function parseEvent(data: string): JsonObject {
  const value = parseObject(data);
  if (value === undefined) throw new TroubleError({ type: "malformed" });
  return value;
}

/** The input of a call as an object, because servers refuse a history with any other input. */
export function replayableInput(input: string): JsonObject {
  return parseObject(input) ?? { unparsable_input: input };
}
