import { isJsonObject, type JsonObject } from "../wire/json-object.ts";

/** The fields of JSON Schema that Gemini accepts unchanged; it refuses a request with any other field. */
const KEPT = [
  "title",
  "description",
  "default",
  "pattern",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;

/** The formats that Gemini accepts, by type. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["date-time", "enum"],
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/**
 * Converts the schema of a tool's input to the subset that Gemini accepts. A constraint that Gemini cannot express is
 * dropped: the tool itself checks its input. Undefined if the tool has no input.
 */
export function toGoogleSchema(schema: JsonObject): JsonObject | undefined {
  const { properties } = schema;
  const isEmpty = !isJsonObject(properties) || Object.keys(properties).length === 0;
  return isEmpty ? undefined : convert(schema, schema, []);
}

/** `references` are the ones that led to this schema: a schema that contains itself ends as an object. */
function convert(given: unknown, root: JsonObject, references: readonly unknown[]): JsonObject {
  const reference = isJsonObject(given) ? given["$ref"] : undefined;
  if (!isJsonObject(given) || references.includes(reference)) return { type: "object" };
  const schema = withMembers(resolve(given, root), root);
  const path = reference === undefined ? references : [...references, reference];
  const next = (value: unknown) => convert(value, root, path);
  const kept = Object.fromEntries(KEPT.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])));
  const alternatives = findAlternatives(schema);
  if (alternatives !== undefined) {
    const real = alternatives.filter((one) => !isNull(one)).map(next);
    const nullable = real.length < alternatives.length ? { nullable: true } : {};
    return { ...kept, ...(real.length === 1 ? real[0] : { anyOf: real }), ...nullable };
  }
  const type = typeOf(schema);
  const { enum: values = [schema["const"]], format, properties, items, required } = schema;
  const texts = asArray(values).filter((value) => typeof value === "string");
  const isFormat = FORMATS[type]?.includes(String(format)) ?? false;
  const ofProperties = isJsonObject(properties) ? Object.entries(properties) : [];
  const names = asArray(required).filter((name) => ofProperties.some(([known]) => known === name));
  return {
    ...kept,
    type,
    ...(isFormat ? { format } : {}),
    ...(type === "string" && texts.length > 0 ? { enum: texts } : {}), // other enumerations are refused
    ...(type === "array" ? { items: next(items ?? {}) } : {}),
    ...(ofProperties.length > 0
      ? { properties: Object.fromEntries(ofProperties.map(([name, value]) => [name, next(value)])) }
      : {}),
    ...(names.length > 0 ? { required: names } : {}),
  };
}

/** The schemas of which one must match; a list of types means one schema for each. */
function findAlternatives(schema: JsonObject): readonly unknown[] | undefined {
  const { anyOf, oneOf, type, properties } = schema;
  if (Array.isArray(type)) return type.map((one: unknown) => ({ ...schema, type: one }));
  if (properties !== undefined) return undefined; // the alternatives only restrict the properties
  return [anyOf, oneOf].find((list) => Array.isArray(list));
}

/** The type of a schema, or else the type that its other fields imply; Gemini requires one. */
function typeOf({ type, properties, items }: JsonObject): string {
  if (typeof type === "string") return type;
  return properties !== undefined ? "object" : items !== undefined ? "array" : "string";
}

/** Replaces a reference to a definition of the same schema. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  const { $ref: reference, ...rest } = schema;
  const [, section = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference)) ?? [];
  const definitions = root[section];
  const found = isJsonObject(definitions) ? definitions[name] : undefined;
  return isJsonObject(found) ? { ...found, ...rest } : rest;
}

/** Merges the members of `allOf` into their schema. */
function withMembers(schema: JsonObject, root: JsonObject): JsonObject {
  const { allOf, ...own } = schema;
  const members = asArray(allOf).filter(isJsonObject);
  if (members.length === 0) return own;
  const all = [...members.map((member) => resolve(member, root)), own];
  const merged = Object.assign({}, ...all) as JsonObject;
  const properties = Object.assign({}, ...all.map((one) => one["properties"])) as JsonObject;
  return { ...merged, properties, required: all.flatMap((one) => asArray(one["required"])) };
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isNull(schema: unknown): boolean {
  return isJsonObject(schema) && schema["type"] === "null";
}
