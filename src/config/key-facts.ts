import { z } from "zod";
import { loadSections, unwrapSchema } from "./schema.ts";

/** Type of a setting; decides how text from a variable or flag is parsed. */
export type KeyType = "boolean" | "integer" | "number" | "string" | "enum" | "list" | "map" | "integer|map";

/** What the schema says about one setting, as plain data. */
export interface KeyFacts {
  readonly path: readonly string[];
  /** The variable, if it does not follow from the path. */
  readonly env: string | undefined;
  readonly type: KeyType;
  /** Whether it is a list of texts. */
  readonly isTextList: boolean;
  readonly nullable: boolean;
  readonly values: readonly string[] | undefined;
  readonly default: unknown;
  readonly description: string;
  readonly secret: boolean;
  readonly usedBy: readonly string[] | undefined;
}

const sections = await loadSections();

/** The facts of every setting, in the order of the schema. The build replaces this file with their JSON. */
export function keyFacts(): KeyFacts[] {
  return [...sections].flatMap(([name, schema]) => collect(schema, [name]));
}

function collect(schema: z.ZodType, path: readonly string[]): KeyFacts[] {
  const inner = unwrapSchema(schema);
  if (!(inner instanceof z.ZodObject)) return [describeKey(schema, path)];
  return Object.entries(inner.shape).flatMap(([name, child]) => collect(child as z.ZodType, [...path, name]));
}

function describeKey(schema: z.ZodType, path: readonly string[]): KeyFacts {
  const meta = schema.meta() ?? {};
  const value = unwrapSchema(schema);
  return {
    path,
    env: meta.env,
    type: typeOf(value),
    isTextList:
      value instanceof z.ZodArray && unwrapSchema(value.element as z.ZodType) instanceof z.ZodString,
    nullable: schema.safeParse(null).success,
    values: value instanceof z.ZodEnum ? value.options.map(String) : undefined,
    default: schema.parse(undefined),
    description: meta.description ?? "",
    secret: meta.secret ?? false,
    usedBy: meta.usedBy,
  };
}

function typeOf(schema: z.ZodType): KeyType {
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodNumber) return schema.isInt ? "integer" : "number";
  if (schema instanceof z.ZodEnum) return "enum";
  if (schema instanceof z.ZodArray) return "list";
  if (schema instanceof z.ZodRecord) return "map";
  if (schema instanceof z.ZodUnion) {
    const types = [...new Set(schema.options.map((option) => typeOf(unwrapSchema(option as z.ZodType))))];
    if (types.length === 1 && types[0]) return types[0];
    if (types.join("|") === "integer|map") return "integer|map";
  }
  if (schema instanceof z.ZodString || schema instanceof z.ZodURL || schema instanceof z.ZodLiteral)
    return "string";
  throw new Error(`no text form is defined for a setting of this type: ${schema.def.type}`);
}
