import { z } from "zod";
import { closest } from "../lib/did-you-mean.ts";
import { type ConfigKey, suggestKey, unwrapSchema } from "./keys.ts";
import type { Problem } from "./problem.ts";
import { isUnbuilt, UNBUILT_SETTINGS, unbuiltProblem } from "./unbuilt-settings.ts";
import type { Position, YamlFile } from "./yaml-file.ts";

interface SettingsFile {
  readonly path: string;
  readonly yaml: YamlFile;
}

/** What is wrong with the file as such: broken YAML, keys that nobody knows, values where a section should be. */
export function fileProblems(keys: readonly ConfigKey[], file: SettingsFile): Problem[] {
  const place = ({ line, column }: Position): string => `${file.path}:${line}:${column}`;
  return [
    ...syntaxProblems(file, place),
    ...unknownKeys(keys, file, place),
    ...unknownInside(keys, file, place),
  ];
}

/** A value without the fields that its schema does not know: those are reported, and must not hide the rest. */
export function withoutUnknownFields(key: ConfigKey, value: unknown): unknown {
  const unknown = unknownFields(key, value);
  if (unknown.length === 0) return value;
  const copy: unknown = structuredClone(value);
  for (const { path, name } of unknown) {
    const parent = path.reduce<unknown>((node, step) => (node as Record<PropertyKey, unknown>)[step], copy);
    delete (parent as Record<string, unknown>)[name];
  }
  return copy;
}

function syntaxProblems({ yaml }: SettingsFile, place: (position: Position) => string): Problem[] {
  return yaml.problems.map(({ position, message }) => ({
    kind: "unreadable",
    key: undefined,
    where: place(position),
    message,
    hint: "Correct the line with `hermes config edit`.",
    used: true,
  }));
}

function unknownKeys(
  keys: readonly ConfigKey[],
  { yaml }: SettingsFile,
  place: (position: Position) => string,
): Problem[] {
  const names = new Set(keys.map((key) => key.key));
  const sections = sectionsOf([...keys.map((key) => key.key), ...Object.keys(UNBUILT_SETTINGS)]);
  const problems: Problem[] = [];
  for (const { path, position } of yaml.paths((candidate) => sections.has(candidate.join(".")))) {
    const name = path.join(".");
    if (isUnbuilt(name)) {
      problems.push(unbuiltProblem(name, place(position)));
      continue;
    }
    if (names.has(name) || (sections.has(name) && yaml.find(path)?.value === null)) continue;
    problems.push(
      sections.has(name)
        ? bareSection(name, place(position))
        : unknownKey(name, place(position), suggestKey(name, keys)),
    );
  }
  return problems;
}

function unknownInside(
  keys: readonly ConfigKey[],
  { yaml }: SettingsFile,
  place: (position: Position) => string,
): Problem[] {
  return keys.flatMap((key) =>
    unknownFields(key, yaml.find(key.path)?.value).map((field) => {
      const path = [...key.path, ...field.path.map(String), field.name];
      return unknownKey(
        path.join("."),
        place(yaml.positionOf(path)),
        closest(field.name, fieldNames(key.schema)),
      );
    }),
  );
}

function unknownFields(key: ConfigKey, value: unknown): { path: PropertyKey[]; name: string }[] {
  if (value === undefined || (key.type !== "map" && key.type !== "list")) return [];
  const result = key.schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((name) => ({ path: issue.path, name })) : [],
  );
}

function fieldNames(schema: z.ZodType): string[] {
  const inner = unwrapSchema(schema);
  if (inner instanceof z.ZodArray) return fieldNames(inner.element as z.ZodType);
  if (inner instanceof z.ZodRecord) return fieldNames(inner.valueType as z.ZodType);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function sectionsOf(names: readonly string[]): Set<string> {
  const paths = names.map((name) => name.split("."));
  return new Set(
    paths.flatMap((path) => path.slice(1).map((_, index) => path.slice(0, index + 1).join("."))),
  );
}

function bareSection(name: string, where: string): Problem {
  const hint = `See its keys with \`hermes config show ${name}\`.`;
  return {
    kind: "bad-value",
    key: name,
    where,
    message: "is a section and needs keys below it",
    hint,
    used: true,
  };
}

function unknownKey(name: string, where: string, suggestion: string | undefined): Problem {
  const hint = name.endsWith(".api_key")
    ? "Put the key itself into .env and name its variable with key_env."
    : suggestion
      ? `Did you mean ${suggestion}?`
      : "Remove it, or see `hermes config keys`.";
  return {
    kind: "unknown-key",
    key: name,
    where,
    message: "is not a setting of this version",
    hint,
    used: false,
  };
}
