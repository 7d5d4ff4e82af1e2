import type { z } from "zod";
import { shorten } from "../lib/text/shorten.ts";
import type { ConfigKey } from "./config-keys.ts";
import { fileProblems, type SchemaOf, withoutUnknownFields } from "./files/file-problems.ts";
import { formatPosition } from "./files/yaml-file.ts";
import {
  assembleConfig,
  isSetByLayer,
  type Layers,
  type LayerValue,
  type ResolvedConfig,
  type Setting,
  SHARED_KEYS,
} from "./resolved-config.ts";
import { loadSections, schemaAt } from "./schema.ts";
import type { Problem } from "./setting-problem.ts";
import { describeExpectedText, type ParsedText, parseBoolean, parseSettingText } from "./setting-text.ts";
import { UNIMPLEMENTED_SETTINGS, unimplementedProblem } from "./unimplemented-settings.ts";

/** Merges the layers: flag > variable > file > default. Collects the problems of all layers. */
export async function resolveConfig(keys: readonly ConfigKey[], layers: Layers): Promise<ResolvedConfig> {
  const setKeys = keys.filter((key) => isSetByLayer(key, layers));
  const sections = await loadSections(new Set(setKeys.map(({ path: [section = ""] }) => section)));
  const schemaOf: SchemaOf = ({ path }) => schemaAt(sections, path);
  const settings = new Map(keys.map((key) => [key.key, resolveKey(key, layers, schemaOf)] as const));
  const backend = settings.get("terminal.backend");
  const isUsed = (key: ConfigKey): boolean =>
    key.usedBy === undefined ||
    backend === undefined ||
    hasProblem(backend) ||
    key.usedBy.includes(String(backend.value));
  const problems = [
    ...(layers.file ? fileProblems(keys, layers.file, schemaOf) : []),
    ...unimplementedVariables(layers),
    ...[...settings.values()].flatMap((setting) => valueProblems(setting, isUsed(setting.key))),
  ];
  return { config: assembleConfig(settings), settings, problems };
}

function unimplementedVariables({ environments }: Layers): Problem[] {
  return Object.entries(UNIMPLEMENTED_SETTINGS).flatMap(([name, variable]) =>
    environments.flatMap((environment) => {
      const found = environment.find(variable);
      return found ? [unimplementedProblem(name, found.where)] : [];
    }),
  );
}

function resolveKey(key: ConfigKey, layers: Layers, schemaOf: SchemaOf): Setting {
  const layerValues: LayerValue[] = [];
  const flag = layers.flags.get(key.key);
  if (flag !== undefined) layerValues.push(flagValue(key, flag, schemaOf));
  for (const environment of layers.environments) {
    for (const name of key.env) {
      const found = environment.find(name);
      if (found === undefined) continue;
      const source = { origin: "env", where: found.where, isStored: environment.isStored } as const;
      layerValues.push({ ...source, ...textValue(key, found.value, schemaOf) });
    }
  }
  if (layers.file) layerValues.push(...fileValues(key, layers.file, schemaOf));
  if (layers.rootFile && SHARED_KEYS.has(key.key))
    layerValues.push(...fileValues(key, layers.rootFile, schemaOf));
  const winner = layerValues.find((layerValue) => layerValue.problem === undefined);
  const value = winner ? winner.value : key.default;
  return { key, value, origin: winner?.origin ?? "default", layerValues };
}

function flagValue(key: ConfigKey, text: string, schemaOf: SchemaOf): LayerValue {
  const source = { origin: "flag", where: key.flag, isStored: false } as const;
  if (key.secret) return { ...source, problem: "is a secret, and arguments are visible to other users" };
  return { ...source, ...textValue(key, text, schemaOf) };
}

/** Parses and validates the text of a variable, a flag or a field; a problem is a phrase such as "expected a number, not …". */
export function textValue(key: ConfigKey, text: string, schemaOf: SchemaOf): ParsedText {
  const parsed = parseSettingText(key, text);
  if ("problem" in parsed) return { problem: describe(key, parsed.problem, text) };
  return check(key, schemaOf(key), parsed.value, text);
}

function fileValues(
  key: ConfigKey,
  { path, yaml }: NonNullable<Layers["file"]>,
  schemaOf: SchemaOf,
): LayerValue[] {
  const found = yaml.find(key.path);
  if (!found || (found.value === null && !key.nullable)) return [];
  const source = { origin: "file", where: formatPosition(path, found.position), isStored: true } as const;
  if (key.secret) return [{ ...source, problem: "is a secret and belongs in .env, not in config.yaml" }];
  // The reference program reads YAML 1.1, where a bare yes is true. A home that both use must mean the same to both.
  const boolean =
    key.type === "boolean" && found.plain && typeof found.value === "string"
      ? parseBoolean(found.value)
      : undefined;
  const schema = schemaOf(key);
  const value = boolean ? boolean.value : withoutUnknownFields(key, schema, found.value);
  return [{ ...source, ...check(key, schema, value, found.value) }];
}

function check(key: ConfigKey, schema: z.ZodType, value: unknown, original: unknown): ParsedText {
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data };
  return { problem: describe(key, firstIssue(key, result.error), original) };
}

function describe(key: ConfigKey, problem: string, original: unknown): string {
  if (key.secret) return problem;
  const full = typeof original === "string" ? original : JSON.stringify(original);
  const text = full
    .replace(/(https?:[/\\]*)[^/\s"]*@/gi, "$1…@") // the URL may contain a password
    .replace(/([?&][^=&#\s"]*=)[^&#\s"]*/g, "$1…"); // or a key in its query
  return problem.startsWith("is empty") ? problem : `${problem}, not ${JSON.stringify(shorten(text, 60))}`;
}

function firstIssue(key: ConfigKey, error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return `expected ${describeExpectedText(key)}`;
  const inside = issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
  if (issue.code === "invalid_type" && inside === "") return `expected ${describeExpectedText(key)}`;
  const message = issue.message.replace(/^Invalid input: /, "").replace(/^(Too (small|big)): /, "");
  return `${inside}${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

function valueProblems({ key, layerValues }: Setting, used: boolean): Problem[] {
  return layerValues.flatMap((layerValue): Problem[] => {
    const { where, problem: message } = layerValue;
    if (message === undefined) return [];
    return [{ kind: "bad-value", key: key.key, where, message, hint: hintFor(key, layerValue), used }];
  });
}

function hintFor(key: ConfigKey, layerValue: LayerValue): string {
  if (key.secret)
    return `Set the variable ${key.env[0]}, or run \`hermes config set ${key.key}\` and type it.`;
  if (layerValue.origin === "file")
    return `Correct it, or run \`hermes config unset ${key.key}\` to use the default.`;
  return layerValue.origin === "env" ? "Correct or unset the variable." : "Correct or omit the flag.";
}

function hasProblem(setting: Setting): boolean {
  return setting.layerValues.some((layerValue) => layerValue.problem !== undefined);
}
