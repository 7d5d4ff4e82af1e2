import { AppError, messageOf } from "../lib/errors.ts";
import { readTextFile } from "../lib/files.ts";
import { isSecretName } from "../lib/redact/secret-names.ts";
import { type EnvEntry, parseEnvFile } from "./env-file.ts";
import { type ConfigKey, configKeys } from "./keys.ts";
import { isIgnored, type Problem, problemLine } from "./problem.ts";
import { type Layers, type ResolvedConfig, resolveConfig } from "./resolve.ts";
import { parseYamlFile } from "./yaml-file.ts";

/** Where settings come from. Nothing else is ever consulted. */
export interface ConfigSources {
  readonly configPath: string;
  readonly envPath: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly flags: ReadonlyMap<string, string>;
}

export interface LoadedConfig extends ResolvedConfig {
  /** Values that must never be shown: secret settings, and whatever in `.env` or the environment is named like one. */
  readonly secrets: readonly string[];
  /** A variable of the real environment, else of `.env`. */
  variable(name: string): string | undefined;
}

/** The one loader: every entry point gets its settings here. Problems are in the result, not thrown. */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const problems: Problem[] = [];
  const text = async (path: string): Promise<string | undefined> => {
    try {
      return await readTextFile(path);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problems.push(unreadable(path, error));
      return undefined;
    }
  };
  const yaml = await text(sources.configPath);
  const dotEnv = await text(sources.envPath);
  const layers: Layers = {
    flags: sources.flags,
    environments: [fromProcess(sources.variables), fromDotEnv(dotEnv ?? "", sources.envPath, problems)],
    file: yaml === undefined ? undefined : { path: sources.configPath, yaml: parseYamlFile(yaml) },
  };
  const keys = configKeys();
  const resolved = resolveConfig(keys, layers);
  return {
    ...resolved,
    problems: [...problems, ...resolved.problems],
    secrets: secretValues(keys, parseEnvFile(dotEnv ?? "").entries, sources.variables),
    variable: (name) =>
      layers.environments.map((layer) => layer.find(name)).find((found) => found !== undefined)?.value,
  };
}

/** Throws on every problem that must stop a program; the rest is for the caller to show as warnings. */
export function requireUsable({ problems }: ResolvedConfig): void {
  refuse(problems.filter((problem) => !isIgnored(problem) && problem.used));
}

/** Throws on every bad value, whether the chosen backend looks at it or not. */
export function requireSound({ problems }: ResolvedConfig): void {
  refuse(problems.filter((problem) => !isIgnored(problem)));
}

function secretValues(
  keys: readonly ConfigKey[],
  entries: readonly EnvEntry[],
  variables: ConfigSources["variables"],
): string[] {
  const secret = new Set(keys.filter((key) => key.secret).flatMap((key) => key.env));
  const open = new Set(keys.filter((key) => !key.secret).flatMap((key) => key.env));
  // In `.env` everything is a secret unless the schema knows better; around us, only what is named like one.
  const own = entries.filter(({ name }) => !open.has(name)).map(({ value }) => value);
  const inherited = Object.entries(variables).filter(
    ([name]) => secret.has(name) || (isSecretName(name) && !open.has(name)),
  );
  return [...own, ...inherited.flatMap(([, value]) => value ?? [])];
}

function refuse(problems: readonly Problem[]): void {
  const [first, ...rest] = problems;
  if (!first) return;
  // Advice that stands below all of them is not repeated behind each.
  const adviceFor = ({ hint }: Problem): string => (hint === first.hint ? "" : ` ${hint}`);
  const more = rest.map((problem) => `\n${problemLine(problem)}.${adviceFor(problem)}`).join("");
  throw new AppError("config-invalid", `${problemLine(first)}.${more}`, { hint: first.hint });
}

function unreadable(where: string, error: AppError): Problem {
  const message = messageOf(error).replace(`${where}: `, "").replace(/\.$/, "");
  return { kind: "unreadable", key: undefined, where, message, hint: error.hint, used: true };
}

function fromProcess(variables: ConfigSources["variables"]): Layers["environments"][number] {
  return {
    find(name) {
      const value = variables[name];
      return value === undefined ? undefined : { value, where: name };
    },
  };
}

function fromDotEnv(text: string, path: string, problems: Problem[]): Layers["environments"][number] {
  const { entries, badLines } = parseEnvFile(text);
  problems.push(
    ...badLines.map((line) => ({
      kind: "unreadable" as const,
      key: undefined,
      where: `${path}:${line}`,
      message: "the line is not NAME=value, a comment or empty",
      hint: "Correct the line; close its quotes.",
      used: true,
    })),
  );
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    find(name) {
      const entry = byName.get(name);
      return entry && { value: entry.value, where: `${name} in ${path}:${entry.line}` };
    },
  };
}
