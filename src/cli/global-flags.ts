import { AppError } from "../lib/errors.ts";

/** The flags that may appear anywhere before `--`, and the remaining words, which belong to the command. */
export interface GlobalFlags {
  readonly profile: string | undefined;
  /** Settings given as flags: key to text, as in `--terminal.timeout 30`. */
  readonly settings: ReadonlyMap<string, string>;
  readonly words: readonly string[];
}

const SETTING = /^--([a-z][a-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+)(?:=([\s\S]*))?$/;

/** Removes the global flags from the words. Words after `--` are never global flags. */
export async function takeGlobalFlags(argv: readonly string[]): Promise<GlobalFlags> {
  const end = argv.indexOf("--");
  const ours = end === -1 ? [...argv] : argv.slice(0, end);
  const settings = new Map<string, string>();
  const words: string[] = [];
  let profile: string | undefined;
  while (ours.length > 0) {
    const word = ours.shift() ?? "";
    const setting = SETTING.exec(word);
    if (word === "-p" || word === "--profile") profile = requireValue(word, ours.shift());
    else if (word.startsWith("--profile="))
      profile = requireValue("--profile", word.slice("--profile=".length));
    else if (setting) await takeSetting(setting[1] ?? "", setting[2], ours, settings);
    else words.push(word);
  }
  return { profile, settings, words: end === -1 ? words : [...words, ...argv.slice(end)] };
}

async function takeSetting(
  name: string,
  attached: string | undefined,
  rest: string[],
  settings: Map<string, string>,
): Promise<void> {
  const [{ configKeys, suggestKey }, { isBooleanText }, { isUnimplemented }] = await Promise.all([
    import("../config/config-keys.ts"),
    import("../config/setting-text.ts"),
    import("../config/unimplemented-settings.ts"),
  ]);
  const keys = configKeys();
  const spelled = name.replaceAll("-", "_");
  const key = keys.find((candidate) => candidate.key === spelled);
  if (!key) {
    const refuse = (message: string, hint: string): AppError =>
      new AppError("usage-wrong", message, { hint });
    if (isUnimplemented(spelled))
      throw refuse(
        `--${name} is not implemented in this version and has no effect`,
        "List the supported settings with `hermes config keys`.",
      );
    const map = keys.find((candidate) => candidate.type === "map" && spelled.startsWith(`${candidate.key}.`));
    if (map !== undefined)
      throw refuse(
        `--${name} is not a flag: entries of ${map.key} can only be set in config.yaml`,
        `Set it with \`hermes config set ${name} VALUE\`.`,
      );
    const suggestion = suggestKey(spelled, keys);
    const hint = suggestion
      ? `Did you mean --${suggestion}?`
      : "List all settings with `hermes config keys`.";
    throw refuse(`unknown option --${name}`, hint);
  }
  // A boolean flag needs no value: the next word is its value only if it is a boolean.
  const isAlone = key.type === "boolean" && !isBooleanText(rest[0] ?? "");
  const text = attached ?? (isAlone ? "true" : rest.shift());
  settings.set(key.key, requireValue(`--${name}`, text));
}

function requireValue(flag: string, text: string | undefined): string {
  if (text === undefined)
    throw new AppError("usage-wrong", `${flag} needs a value`, { hint: `Write ${flag} VALUE.` });
  return text;
}
