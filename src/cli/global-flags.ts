import { AppError } from "../lib/errors.ts";

/** What may stand anywhere before `--`, and the words that are left for the command. */
export interface GlobalFlags {
  readonly profile: string | undefined;
  /** Settings given as flags: key to text, as in `--terminal.timeout 30`. */
  readonly settings: ReadonlyMap<string, string>;
  readonly words: readonly string[];
}

const SETTING = /^--([a-z][a-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+)(?:=([\s\S]*))?$/;

/** Takes the global flags out of the words; what stands after `--` is never ours. */
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
  const [{ configKeys, suggestKey }, { isUnbuilt }] = await Promise.all([
    import("../config/keys.ts"),
    import("../config/unbuilt-settings.ts"),
  ]);
  const keys = configKeys();
  const spelled = name.replaceAll("-", "_");
  const key = keys.find((candidate) => candidate.key === spelled);
  if (!key) {
    if (isUnbuilt(spelled)) {
      throw new AppError("usage-wrong", `--${name} is not built yet: nothing in this version obeys it`, {
        hint: "List the settings that are obeyed with `hermes config keys`.",
      });
    }
    const map = keys.find((candidate) => candidate.type === "map" && spelled.startsWith(`${candidate.key}.`));
    if (map !== undefined) {
      throw new AppError(
        "usage-wrong",
        `--${name} is no flag: what is inside ${map.key} stands in config.yaml`,
        {
          hint: `Set it with \`hermes config set ${name} VALUE\`.`,
        },
      );
    }
    const suggestion = suggestKey(spelled, keys);
    throw new AppError("usage-wrong", `unknown option --${name}`, {
      hint: suggestion ? `Did you mean --${suggestion}?` : "List all settings with `hermes config keys`.",
    });
  }
  // A yes-or-no flag takes a value only with `=`, so that the command behind it is not eaten.
  const text = attached ?? (key.type === "boolean" ? "true" : rest.shift());
  settings.set(key.key, requireValue(`--${name}`, text));
}

function requireValue(flag: string, text: string | undefined): string {
  if (text === undefined)
    throw new AppError("usage-wrong", `${flag} needs a value`, { hint: `Write ${flag} VALUE.` });
  return text;
}
