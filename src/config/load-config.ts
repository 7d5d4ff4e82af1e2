import { AppError } from "../lib/errors.ts";
import { readTextFile } from "../lib/files/files.ts";
import { isSecretName } from "../lib/redact/secret-names.ts";
import { type ConfigKey, configKeys } from "./config-keys.ts";
import { type EnvEntry, type EnvFile, parseEnvFile } from "./files/env-file.ts";
import {
  defaultConfig,
  isSetByLayer,
  type Layers,
  type ResolvedConfig,
  SHARED_KEYS,
} from "./resolved-config.ts";
import { formatProblem, isIgnored, type Problem, unreadableProblem } from "./setting-problem.ts";
import { UNIMPLEMENTED_SETTINGS } from "./unimplemented-settings.ts";

/** The files of a profile that contain settings. */
interface ProfileFiles {
  readonly configPath: string;
  readonly envPath: string;
}

/** The sources of settings other than the files of a profile. */
export interface ConfigSources {
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Settings given as flags. */
  readonly settings?: ReadonlyMap<string, string> | undefined;
  /** The files of the root home, for the settings of the boards, which all profiles share. */
  readonly root?: ProfileFiles | undefined;
}

export interface LoadedConfig extends ResolvedConfig {
  /** Values that must never be shown: secret settings, other entries of `.env`, and variables whose name suggests a secret. */
  readonly secrets: readonly string[];
  /** The value of a variable from the real environment, else from `.env`. */
  variable(name: string): string | undefined;
}

/** Loads the settings of a profile, for every entry point. Returns problems instead of throwing. */
export async function loadConfig(
  { configPath, envPath }: ProfileFiles,
  { variables = {}, settings = new Map(), root }: ConfigSources = {},
): Promise<LoadedConfig> {
  const problems: Problem[] = [];
  const readOrReport = async (path: string): Promise<string | undefined> => {
    try {
      return await readTextFile(path);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const message = error.message.replace(`Cannot read ${path}`, "cannot be read").replace(/\.$/, "");
      problems.push(unreadableProblem(path, message, error.hint));
      return undefined;
    }
  };
  const yaml = await readOrReport(configPath);
  const dotEnv = parseEnvFile((await readOrReport(envPath)) ?? "");
  for (const line of dotEnv.badLines) {
    const message = "the line is not NAME=value, a comment or empty";
    problems.push(unreadableProblem(`${envPath}:${line}`, message, "Write NAME=value, and close any quote."));
  }
  const keys = configKeys();
  const rootYaml = root && (await readOrReport(root.configPath));
  const shared =
    root && onlyNames(sharedVariables(keys), parseEnvFile((await readOrReport(root.envPath)) ?? ""));
  const layers: Layers = {
    flags: settings,
    environments: [
      fromProcess(variables),
      fromDotEnv(dotEnv, envPath),
      ...(shared ? [fromDotEnv(shared, root.envPath)] : []),
    ],
    file: yaml === undefined ? undefined : await settingsFile(configPath, yaml),
    rootFile: root && rootYaml !== undefined ? await settingsFile(root.configPath, rootYaml) : undefined,
  };
  const resolved = await resolve(keys, layers);
  return {
    ...resolved,
    problems: [...problems, ...resolved.problems],
    secrets: secretValues(keys, [...dotEnv.entries, ...(shared?.entries ?? [])], variables),
    variable: (name) =>
      layers.environments.map((layer) => layer.find(name)).find((found) => found !== undefined)?.value,
  };
}

/** The variables of the root home's `.env` that apply to every profile. */
function sharedVariables(keys: readonly ConfigKey[]): ReadonlySet<string> {
  const names = keys.filter(({ key }) => SHARED_KEYS.has(key)).flatMap(({ env }) => env);
  return new Set(["HERMES_KANBAN_HOME", ...names]);
}

function onlyNames(names: ReadonlySet<string>, file: EnvFile): EnvFile {
  return { ...file, entries: file.entries.filter(({ name }) => names.has(name)) };
}

async function settingsFile(path: string, text: string): Promise<NonNullable<Layers["file"]>> {
  const { parseYamlFile } = await import("./files/yaml-file.ts");
  return { path, yaml: parseYamlFile(text) };
}

/** Merges the layers. If none sets anything, returns the defaults without loading the code that validates. */
async function resolve(keys: readonly ConfigKey[], layers: Layers): Promise<ResolvedConfig> {
  const { environments, file } = layers;
  const isDefault =
    file === undefined &&
    !keys.some((key) => isSetByLayer(key, layers)) &&
    !Object.values(UNIMPLEMENTED_SETTINGS).some((name) => environments.some(({ find }) => find(name)));
  if (isDefault) return defaultConfig(keys);
  const { resolveConfig } = await import("./resolve-config.ts");
  return resolveConfig(keys, layers);
}

/** Throws if a problem must stop the program. The caller shows the other problems as warnings. */
export function requireUsable({ problems }: ResolvedConfig): void {
  refuse(problems.filter((problem) => !isIgnored(problem) && problem.used));
}

/** Throws for any bad value, even of a setting that the chosen backend does not use. */
export function requireNoBadValues({ problems }: ResolvedConfig): void {
  refuse(problems.filter((problem) => !isIgnored(problem)));
}

function secretValues(
  keys: readonly ConfigKey[],
  entries: readonly EnvEntry[],
  variables: NonNullable<ConfigSources["variables"]>,
): string[] {
  const secret = new Set(keys.filter((key) => key.secret).flatMap((key) => key.env));
  const plain = new Set(keys.filter((key) => !key.secret).flatMap((key) => key.env));
  // In `.env`, every value is a secret unless the schema says otherwise; in the environment, the name must suggest one.
  const stored = entries.filter(({ name }) => !plain.has(name)).map(({ value }) => value);
  const inherited = Object.entries(variables).filter(
    ([name]) => secret.has(name) || (isSecretName(name) && !plain.has(name)),
  );
  // Keys are sent without surrounding whitespace, so they must be recognised in that form.
  return [...stored, ...inherited.flatMap(([, value]) => value ?? [])].map((value) => value.trim());
}

function refuse(problems: readonly Problem[]): void {
  const [first, ...rest] = problems;
  if (!first) return;
  // The hint of the first problem is printed below the list, so it is not repeated.
  const hintFor = ({ hint }: Problem): string => (hint === first.hint ? "" : ` ${hint}`);
  const otherLines = rest.map((problem) => `\n${formatProblem(problem)}.${hintFor(problem)}`).join("");
  throw new AppError("config-invalid", `${formatProblem(first)}.${otherLines}`, { hint: first.hint });
}

function fromProcess(variables: NonNullable<ConfigSources["variables"]>): Layers["environments"][number] {
  return {
    isStored: false,
    find(name) {
      const value = variables[name];
      return value === undefined ? undefined : { value, where: name };
    },
  };
}

function fromDotEnv({ entries }: EnvFile, path: string): Layers["environments"][number] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    isStored: true,
    find(name) {
      const entry = byName.get(name);
      return entry && { value: entry.value, where: `${name} in ${path}:${entry.line}` };
    },
  };
}
