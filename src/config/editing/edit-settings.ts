import { isDeepStrictEqual } from "node:util";
import { type ConfigKey, configKeys } from "../config-keys.ts";
import { setInYaml, unsetInYaml } from "../files/edit-yaml.ts";
import { editConfigFile, requireYaml } from "../files/write-setting.ts";
import { parseYamlFile } from "../files/yaml-file.ts";
import { textValue } from "../resolve-config.ts";
import { loadSections, schemaAt } from "../schema.ts";
import { isIgnored, type Problem } from "../setting-problem.ts";
import { problemsOfText, versionOf } from "./settings-text.ts";

/** The file to edit, and its version as the person who edits it saw it. */
export interface EditedFile {
  readonly configPath: string;
  readonly home: string;
  readonly version: string;
}

/** `stale`: the file has another version, so nothing was written. */
export type EditResult<Refusal> =
  | { readonly outcome: "saved"; readonly version: string; readonly changed: readonly string[] }
  | { readonly outcome: "stale" }
  | { readonly outcome: "refused"; readonly problems: readonly Refusal[] };

/** Why the text of one setting was refused. */
export interface RefusedText {
  readonly key: string;
  readonly problem: string;
}

/**
 * Makes several changes to config.yaml in one atomic write, if the file still has the version of the edit. A text is what
 * `hermes config set` takes; null removes the setting from the file. If one text is invalid, nothing is written. A value
 * that is in effect anyway is not added to the file.
 */
export async function editSettings(
  file: EditedFile,
  changes: ReadonlyMap<ConfigKey, string | null>,
  effective: (key: ConfigKey) => unknown,
  signal: AbortSignal,
): Promise<EditResult<RefusedText>> {
  const sections = await loadSections(
    new Set([...changes.keys()].map(({ path: [section = ""] }) => section)),
  );
  const problems: RefusedText[] = [];
  const values = new Map<ConfigKey, unknown>();
  for (const [key, text] of changes) {
    if (text === null) {
      values.set(key, undefined);
      continue;
    }
    const checked = textValue(key, text, ({ path }) => schemaAt(sections, path));
    if ("problem" in checked) problems.push({ key: key.key, problem: checked.problem });
    else values.set(key, asWritten(key, text, checked.value));
  }
  if (problems.length > 0) return { outcome: "refused", problems };
  const changed: string[] = [];
  return await editIfUnchanged(file, signal, (text) => {
    requireYaml(file.configPath, text);
    let edited = text;
    for (const [key, value] of values) {
      const isInFile = parseYamlFile(edited).find(key.path) !== undefined;
      if (!isInFile && (value === undefined || isDeepStrictEqual(value, effective(key)))) continue;
      edited = value === undefined ? unsetInYaml(edited, key.path) : setInYaml(edited, key.path, value);
      changed.push(key.key);
    }
    return { text: edited, changed };
  });
}

/** Replaces the text of config.yaml, if the file still has the version of the edit and the text has no errors. */
export async function replaceSettings(
  file: EditedFile,
  text: string,
  signal: AbortSignal,
): Promise<EditResult<Problem>> {
  const problems = (await problemsOfText(file.configPath, text)).filter((problem) => !isIgnored(problem));
  if (problems.length > 0) return { outcome: "refused", problems };
  return await editIfUnchanged(file, signal, () => ({ text, changed: ["config.yaml"] }));
}

/** For a map or list, the schema would add its defaults, so the value is written as it was typed. */
function asWritten({ type }: ConfigKey, text: string, checked: unknown): unknown {
  const isContainer = typeof checked === "object" && checked !== null;
  return isContainer && type !== "string" ? (JSON.parse(text.trim()) as unknown) : checked;
}

async function editIfUnchanged(
  { configPath, home, version }: EditedFile,
  signal: AbortSignal,
  edit: (text: string) => { readonly text: string; readonly changed: readonly string[] },
): Promise<EditResult<never>> {
  let result: EditResult<never> = { outcome: "stale" };
  await editConfigFile(configPath, home, signal, (before) => {
    if (versionOf(before) !== version) return before;
    const { text, changed } = edit(before);
    result = { outcome: "saved", version: versionOf(text), changed: text === before ? [] : changed };
    return text;
  });
  return result;
}

/** The settings with these names; an unknown name is `undefined` in the map. */
export function findKeys(names: Iterable<string>): ReadonlyMap<string, ConfigKey | undefined> {
  const keys = new Map(configKeys().map((key) => [key.key, key]));
  return new Map([...names].map((name) => [name, keys.get(name)]));
}
