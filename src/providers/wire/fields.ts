import { TroubleError } from "./trouble-error.ts";

/** An object of a vendor, of which nothing is certain. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" ? value : undefined;
}

/** The object that the data of an event is the JSON of; throws a `TroubleError` when it is none. */
export function parseEvent(data: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw malformed();
  }
  if (isFields(value)) return value;
  throw malformed();
}

export function malformed(): TroubleError {
  return new TroubleError({ type: "malformed" });
}
