import { AppError } from "../../lib/errors.ts";
import { withFileLock } from "../../lib/files/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../../lib/files/files.ts";
import { addInYaml, setInYaml, unsetInYaml } from "./edit-yaml.ts";
import { editEnvFile, parseEnvFile } from "./env-file.ts";
import { formatPosition, parseYamlFile } from "./yaml-file.ts";

/** Sets a value in config.yaml; undefined removes it. Concurrent edits wait for each other, so none is lost. */
export async function writeSetting(
  path: string,
  home: string,
  words: readonly string[],
  value: unknown,
  signal: AbortSignal,
): Promise<void> {
  await writeSettings(path, home, [[words, value]], signal);
}

/** Makes several changes to config.yaml in one atomic write. */
export async function writeSettings(
  path: string,
  home: string,
  changes: readonly (readonly [words: readonly string[], value: unknown])[],
  signal: AbortSignal,
): Promise<void> {
  await editConfigFile(path, home, signal, (text) => {
    requireYaml(path, text);
    return changes.reduce(
      (edited, [words, value]) =>
        value === undefined ? unsetInYaml(edited, words) : setInYaml(edited, words, value),
      text,
    );
  });
}

/** Adds an item to a list in config.yaml. */
export async function addToSetting(
  path: string,
  home: string,
  words: readonly string[],
  item: string,
  signal: AbortSignal,
): Promise<void> {
  await editConfigFile(path, home, signal, (text) => {
    requireYaml(path, text);
    return addInYaml(text, words, item);
  });
}

/** Removes an item from a list in config.yaml, and the list when it becomes empty. */
export async function removeFromSetting(
  path: string,
  home: string,
  words: readonly string[],
  item: string,
  signal: AbortSignal,
): Promise<void> {
  await editConfigFile(path, home, signal, (text) => {
    requireYaml(path, text);
    const list = parseYamlFile(text).find(words)?.value;
    if (!Array.isArray(list) || !list.includes(item)) return text;
    const rest = list.filter((one) => one !== item);
    return rest.length === 0 ? unsetInYaml(text, words) : setInYaml(text, words, rest);
  });
}

/** Throws for a text that is not valid YAML. */
export function requireYaml(path: string, text: string): void {
  const [problem] = parseYamlFile(text).problems;
  if (problem)
    throw new AppError("config-invalid", `${formatPosition(path, problem.position)}: ${problem.message}.`, {
      hint: "Correct the line with `hermes config edit`; nothing was changed.",
    });
}

/** Sets a variable in `.env`; undefined removes it. The file stays readable only by its owner. */
export async function writeSecret(
  path: string,
  home: string,
  name: string,
  value: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await editConfigFile(path, home, signal, (text) => editEnvFile(text, name, value));
}

/**
 * Adds a variable to `.env` and returns its name, which `chooseName` picks. The names in use are read under the lock of the file, so
 * that two processes never pick the same one.
 */
export async function addSecret(
  path: string,
  home: string,
  chooseName: (isStored: (name: string) => boolean) => string,
  value: string,
  signal: AbortSignal,
): Promise<string> {
  let name = "";
  await editConfigFile(path, home, signal, (text) => {
    const stored = new Set(
      parseEnvFile(text).entries.flatMap((entry) => (entry.value === "" ? [] : entry.name)),
    );
    name = chooseName((candidate) => stored.has(candidate));
    return editEnvFile(text, name, value);
  });
  return name;
}

/** Edits a file of the profile under its lock, in one atomic write; an unchanged text is not written. */
export async function editConfigFile(
  path: string,
  home: string,
  signal: AbortSignal,
  edit: (text: string) => string,
): Promise<void> {
  await ensurePrivateFolder(home);
  await withFileLock(
    `${path}.lock`,
    async () => {
      const before = (await readTextFile(path)) ?? "";
      const after = edit(before);
      if (after !== before) await writeFileAtomic(path, after, { mode: 0o600 });
    },
    signal,
  );
}
