import type { z } from "zod";
import { shorten } from "../lib/shorten.ts";
import { fileProblems, withoutUnknownFields } from "./file-problems.ts";
import type { ConfigKey } from "./keys.ts";
import type { Problem } from "./problem.ts";
import { expectation, readBoolean, readText } from "./read-text.ts";
import type { Config } from "./schema.ts";
import { UNBUILT_SETTINGS, unbuiltProblem } from "./unbuilt-settings.ts";
import type { YamlFile } from "./yaml-file.ts";

export type Origin = "flag" | "env" | "file" | "default";

/** What one layer says about a key. */
export interface Statement {
  readonly origin: Exclude<Origin, "default">;
  /** Where it stands: a flag, a variable, or file:line:column. */
  readonly where: string;
  readonly value?: unknown;
  readonly problem?: string;
}

/** The effective value of one key and everything that was said about it, strongest first. */
export interface Setting {
  readonly key: ConfigKey;
  readonly value: unknown;
  readonly origin: Origin;
  readonly statements: readonly Statement[];
}

/** The layers above the defaults, as text and values that know where they stand. */
export interface Layers {
  readonly flags: ReadonlyMap<string, string>;
  /** Variables, strongest source first: the real environment, then the profile's `.env`. */
  readonly environments: readonly {
    readonly find: (name: string) => { value: string; where: string } | undefined;
  }[];
  readonly file: { readonly path: string; readonly yaml: YamlFile } | undefined;
}

export interface ResolvedConfig {
  readonly config: Config;
  readonly settings: ReadonlyMap<string, Setting>;
  readonly problems: readonly Problem[];
}

/** Merges the layers: flag > variable > file > default. Pure; every problem of every layer is collected. */
export function resolveConfig(keys: readonly ConfigKey[], layers: Layers): ResolvedConfig {
  const settings = new Map(keys.map((key) => [key.key, resolveKey(key, layers)] as const));
  const backend = settings.get("terminal.backend");
  const isUsed = (key: ConfigKey): boolean =>
    key.usedBy === undefined ||
    backend === undefined ||
    hasProblem(backend) ||
    key.usedBy.includes(String(backend.value));
  const problems = [
    ...(layers.file ? fileProblems(keys, layers.file) : []),
    ...unbuiltVariables(layers),
    ...[...settings.values()].flatMap((setting) => valueProblems(setting, isUsed(setting.key))),
  ];
  return { config: assemble(settings), settings, problems };
}

function unbuiltVariables({ environments }: Layers): Problem[] {
  return Object.entries(UNBUILT_SETTINGS).flatMap(([name, variable]) =>
    environments.flatMap((environment) => {
      const found = environment.find(variable);
      return found ? [unbuiltProblem(name, found.where)] : [];
    }),
  );
}

function resolveKey(key: ConfigKey, layers: Layers): Setting {
  const statements: Statement[] = [];
  const flag = layers.flags.get(key.key);
  if (flag !== undefined) statements.push(flagStatement(key, flag));
  for (const environment of layers.environments) {
    for (const name of key.env) {
      const found = environment.find(name);
      if (found) statements.push({ origin: "env", where: found.where, ...textValue(key, found.value) });
    }
  }
  if (layers.file) statements.push(...fileStatements(key, layers.file));
  const winner = statements.find((statement) => statement.problem === undefined);
  return {
    key,
    value: winner ? winner.value : key.default,
    origin: winner?.origin ?? "default",
    statements,
  };
}

function flagStatement(key: ConfigKey, text: string): Statement {
  const where = key.flag;
  if (key.secret)
    return { origin: "flag", where, problem: "is a secret, and other users can read arguments" };
  return { origin: "flag", where, ...textValue(key, text) };
}

function textValue(key: ConfigKey, text: string): { value: unknown } | { problem: string } {
  const reading = readText(key, text);
  if ("problem" in reading) return { problem: describe(key, reading.problem, text) };
  return check(key, reading.value, text);
}

function fileStatements(key: ConfigKey, { path, yaml }: { path: string; yaml: YamlFile }): Statement[] {
  const found = yaml.find(key.path);
  if (!found || (found.value === null && !key.nullable)) return [];
  const where = `${path}:${found.position.line}:${found.position.column}`;
  if (key.secret) {
    return [{ origin: "file", where, problem: "is a secret and belongs in .env, not in config.yaml" }];
  }
  // The reference reads YAML 1.1, where a bare yes is true; a home shared with it must mean the same here.
  const boolean =
    key.type === "boolean" && found.plain && typeof found.value === "string"
      ? readBoolean(found.value)
      : undefined;
  const value = boolean ? boolean.value : withoutUnknownFields(key, found.value);
  return [{ origin: "file", where, ...check(key, value, found.value) }];
}

function check(key: ConfigKey, value: unknown, shown: unknown): { value: unknown } | { problem: string } {
  const result = key.schema.safeParse(value);
  if (result.success) return { value: result.data };
  return { problem: describe(key, firstIssue(key, result.error), shown) };
}

function describe(key: ConfigKey, problem: string, shown: unknown): string {
  if (key.secret) return problem;
  const text = typeof shown === "string" ? shown : JSON.stringify(shown);
  return problem.startsWith("is empty") ? problem : `${problem}, not ${JSON.stringify(shorten(text, 60))}`;
}

function firstIssue(key: ConfigKey, error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return `expected ${expectation(key)}`;
  const inside = issue.path.length > 0 ? `${issue.path.join(".")}: ` : "";
  if (issue.code === "invalid_type" && inside === "") return `expected ${expectation(key)}`;
  const message = issue.message.replace(/^Invalid input: /, "").replace(/^(Too (small|big)): /, "");
  return `${inside}${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

function valueProblems(setting: Setting, used: boolean): Problem[] {
  return setting.statements
    .filter((statement) => statement.problem !== undefined)
    .map((statement) => ({
      kind: "bad-value" as const,
      key: setting.key.key,
      where: statement.where,
      message: statement.problem ?? "",
      hint: fixFor(setting.key, statement),
      used,
    }));
}

function fixFor(key: ConfigKey, statement: Statement): string {
  if (key.secret)
    return `Set the variable ${key.env[0]}, or run \`hermes config set ${key.key}\` and type it.`;
  if (statement.origin === "file")
    return `Correct it, or run \`hermes config unset ${key.key}\` to use the default.`;
  return statement.origin === "env" ? "Correct or unset the variable." : "Correct or drop the flag.";
}

function hasProblem(setting: Setting): boolean {
  return setting.statements.some((statement) => statement.problem !== undefined);
}

function assemble(settings: ReadonlyMap<string, Setting>): Config {
  const root: Record<string, unknown> = {};
  for (const { key, value } of settings.values()) {
    let node = root;
    for (const step of key.path.slice(0, -1)) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    node[key.path.at(-1) ?? ""] = value;
  }
  return root as Config; // safe: each leaf was parsed by its own schema and stands at its own path
}
