import { AppError } from "../lib/errors.ts";
import { withFileLock } from "../lib/file-lock.ts";
import { ensurePrivateFolder, readTextFile, writeFileAtomic } from "../lib/files.ts";
import { setInYaml, unsetInYaml } from "./edit-yaml.ts";
import { editEnvFile } from "./env-file.ts";
import { parseYamlFile } from "./yaml-file.ts";

/** Sets (or with undefined removes) a value in config.yaml; concurrent edits queue up and none is lost. */
export async function writeSetting(
  path: string,
  home: string,
  words: readonly string[],
  value: unknown,
  signal: AbortSignal,
): Promise<void> {
  await editFile(path, home, signal, undefined, (text) => {
    const [problem] = parseYamlFile(text).problems;
    if (problem) {
      const { line, column } = problem.position;
      throw new AppError("config-invalid", `${path}:${line}:${column}: ${problem.message}.`, {
        hint: "Correct the line with `hermes config edit`; nothing was changed.",
      });
    }
    return value === undefined ? unsetInYaml(text, words) : setInYaml(text, words, value);
  });
}

/** Sets (or with undefined removes) a variable in `.env`, which stays readable for its owner alone. */
export async function writeSecret(
  path: string,
  home: string,
  name: string,
  value: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  await editFile(path, home, signal, 0o600, (text) => editEnvFile(text, name, value));
}

async function editFile(
  path: string,
  home: string,
  signal: AbortSignal,
  mode: number | undefined,
  edit: (text: string) => string,
): Promise<void> {
  await ensurePrivateFolder(home);
  await withFileLock(
    `${path}.lock`,
    async () => {
      const before = (await readTextFile(path)) ?? "";
      const after = edit(before);
      if (after !== before) await writeFileAtomic(path, after, { mode: mode ?? 0o600 });
    },
    signal,
  );
}
