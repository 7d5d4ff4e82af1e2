import { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import { AppError } from "../lib/errors.ts";
import { configSchema } from "./schema.ts";
import { isUnbuilt } from "./unbuilt-settings.ts";

/** What a key holds, and so how text from a variable or a flag is read. */
export type KeyType = "boolean" | "integer" | "number" | "string" | "enum" | "list" | "map" | "integer|map";

/** One setting, with every spelling of it. */
export interface ConfigKey {
  readonly key: string;
  readonly path: readonly string[];
  /** Variables that override it; the first is the one we name to people. */
  readonly env: readonly [string, ...string[]];
  readonly flag: string;
  readonly type: KeyType;
  readonly nullable: boolean;
  readonly values: readonly string[] | undefined;
  readonly default: unknown;
  readonly description: string;
  readonly secret: boolean;
  readonly usedBy: readonly string[] | undefined;
  readonly schema: z.ZodType;
}

/** Every setting in the order of the schema. */
export function configKeys(): readonly ConfigKey[] {
  return collect(configSchema, []);
}

/** The setting that `name` addresses, and the rest of the path when it reaches into a map or list. */
export function requireKey(name: string, keys: readonly ConfigKey[]): { key: ConfigKey; inside: string[] } {
  const found = findKey(name, keys);
  if (found) return found;
  if (isUnbuilt(name)) {
    throw new AppError("config-key-unknown", `${name} is not built yet: nothing in this version obeys it.`, {
      hint: "List the settings that are obeyed with `hermes config keys`.",
    });
  }
  const inSection = keys.filter((key) => key.key.startsWith(`${name}.`));
  if (inSection.length > 0) {
    throw new AppError(
      "config-key-unknown",
      `${name} is a section with ${inSection.length} settings, not a setting.`,
      {
        hint: `See them with \`hermes config show ${name}\`.`,
      },
    );
  }
  const suggestion = suggestKey(name, keys);
  throw new AppError("config-key-unknown", `There is no setting ${name}.`, {
    ...(suggestion && { hint: `Did you mean ${suggestion}? List all with \`hermes config keys\`.` }),
  });
}

/** Like `requireKey`, for callers that can go on without. */
export function findKey(
  name: string,
  keys: readonly ConfigKey[],
): { key: ConfigKey; inside: string[] } | undefined {
  const exact = keys.find((key) => key.key === name);
  if (exact) return { key: exact, inside: [] };
  const container = keys.find((key) => isContainer(key) && name.startsWith(`${key.key}.`));
  return container && { key: container, inside: name.slice(container.key.length + 1).split(".") };
}

/** The setting a person most likely meant: a near spelling, or the same last word in another section. */
export function suggestKey(name: string, keys: readonly ConfigKey[]): string | undefined {
  const near = closest(
    name,
    keys.map((key) => key.key),
  );
  if (near) return near;
  const lastWord = name.slice(name.lastIndexOf(".") + 1);
  const byLastWord = new Map(keys.map((key) => [key.path.at(-1) ?? "", key.key]));
  const word = closest(lastWord, byLastWord.keys());
  return word === undefined ? undefined : byLastWord.get(word);
}

function isContainer(key: ConfigKey): boolean {
  return key.type === "map" || key.type === "list" || key.type === "integer|map";
}

function collect(section: z.ZodObject, path: readonly string[]): ConfigKey[] {
  return Object.entries(section.shape).flatMap(([name, schema]) => {
    const inner = unwrapSchema(schema as z.ZodType);
    const childPath = [...path, name];
    return inner instanceof z.ZodObject
      ? collect(inner, childPath)
      : [describeKey(schema as z.ZodType, childPath)];
  });
}

function describeKey(schema: z.ZodType, path: readonly string[]): ConfigKey {
  const key = path.join(".");
  const meta = schema.meta() ?? {};
  const value = unwrapSchema(schema);
  // Every command reads its settings, and most ask for few of these facts.
  return {
    key,
    path,
    env: variablesOf(path, meta.env),
    flag: `--${key}`,
    type: typeOf(value),
    get nullable() {
      return schema.safeParse(null).success;
    },
    values: value instanceof z.ZodEnum ? value.options.map(String) : undefined,
    get default() {
      return schema.parse(undefined);
    },
    description: meta.description ?? "",
    secret: meta.secret ?? false,
    usedBy: meta.usedBy,
    schema,
  };
}

/** `terminal.x` answers to TERMINAL_X, other keys to HERMES_<PATH>; a name of its own comes before that one. */
function variablesOf(path: readonly string[], own: string | undefined): readonly [string, ...string[]] {
  const computed = (path[0] === "terminal" ? path : ["hermes", ...path]).join("_").toUpperCase();
  return own === undefined || own === computed ? [computed] : [own, computed];
}

/** The schema below its default, prefault and null. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable) {
    return unwrapSchema(schema.unwrap() as z.ZodType);
  }
  return schema;
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
