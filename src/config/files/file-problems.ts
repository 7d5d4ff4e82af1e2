import type { z } from "zod";
import { findClosest } from "../../lib/text/did-you-mean.ts";
import { type ConfigKey, suggestKey } from "../config-keys.ts";
import type { Layers } from "../resolved-config.ts";
import { fieldNames } from "../schema.ts";
import { type Problem, unknownNameProblem, unreadableProblem } from "../setting-problem.ts";
import { isUnimplemented, UNIMPLEMENTED_SETTINGS, unimplementedProblem } from "../unimplemented-settings.ts";
import { formatPosition } from "./yaml-file.ts";

/** Returns the schema of a key. Callable only for keys that some layer sets, because other schemas are not loaded. */
export type SchemaOf = (key: ConfigKey) => z.ZodType;

type SettingsFile = NonNullable<Layers["file"]>;

/** Finds problems of the file itself: invalid YAML, unknown keys, values in place of a section. */
export function fileProblems(keys: readonly ConfigKey[], file: SettingsFile, schemaOf: SchemaOf): Problem[] {
  const hint = "Correct the line with `hermes config edit`.";
  return [
    ...file.yaml.problems.map(({ position, message }) =>
      unreadableProblem(formatPosition(file.path, position), message, hint),
    ),
    ...unknownKeys(keys, file),
    ...unknownInside(keys, file, schemaOf),
  ];
}

/** Removes unknown fields. They are reported separately and must not make the other fields invalid. */
export function withoutUnknownFields(key: ConfigKey, schema: z.ZodType, value: unknown): unknown {
  const unknown = unknownFields(key, schema, value);
  if (unknown.length === 0) return value;
  const copy: unknown = structuredClone(value);
  for (const { path, name } of unknown) {
    const parent = path.reduce<unknown>((node, step) => (node as Record<PropertyKey, unknown>)[step], copy);
    delete (parent as Record<string, unknown>)[name];
  }
  return copy;
}

function unknownKeys(keys: readonly ConfigKey[], { path: file, yaml }: SettingsFile): Problem[] {
  const names = new Set(keys.map((key) => key.key));
  const sections = sectionsOf([...names, ...Object.keys(UNIMPLEMENTED_SETTINGS)]);
  return [...yaml.paths((candidate) => sections.has(candidate.join(".")))].flatMap(({ path, position }) => {
    const name = path.join(".");
    const where = formatPosition(file, position);
    if (isUnimplemented(name)) return [unimplementedProblem(name, where)];
    if (names.has(name)) return [];
    if (!sections.has(name)) return [unknownKey(name, where, suggestKey(name, keys))];
    if (yaml.find(path)?.value === null) return [];
    const message = "is a section and needs keys below it";
    const hint = `See its keys with \`hermes config show ${name}\`.`;
    return [{ kind: "bad-value", key: name, where, message, hint, used: true }];
  });
}

function unknownInside(
  keys: readonly ConfigKey[],
  { path: file, yaml }: SettingsFile,
  schemaOf: SchemaOf,
): Problem[] {
  return keys.flatMap((key) => {
    const found = yaml.find(key.path);
    if (found === undefined) return [];
    const schema = schemaOf(key);
    return unknownFields(key, schema, found.value).map((field) => {
      const path = [...key.path, ...field.path.map(String), field.name];
      const where = formatPosition(file, yaml.positionOf(path));
      return unknownKey(path.join("."), where, findClosest(field.name, fieldNames(schema)));
    });
  });
}

function unknownFields(
  key: ConfigKey,
  schema: z.ZodType,
  value: unknown,
): { path: PropertyKey[]; name: string }[] {
  if (key.type !== "map" && key.type !== "list") return [];
  const result = schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((name) => ({ path: issue.path, name })) : [],
  );
}

function sectionsOf(names: readonly string[]): Set<string> {
  const paths = names.map((name) => name.split("."));
  return new Set(
    paths.flatMap((path) => path.slice(1).map((_, index) => path.slice(0, index + 1).join("."))),
  );
}

function unknownKey(name: string, where: string, suggestion: string | undefined): Problem {
  const hint = name.endsWith(".api_key")
    ? "Put the key itself into .env and name its variable with key_env."
    : suggestion
      ? `Did you mean ${suggestion}?`
      : "Remove it, or see `hermes config keys`.";
  return unknownNameProblem(name, where, "is not a setting of this version", hint);
}
