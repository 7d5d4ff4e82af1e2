import type { Command } from "commander";
import { type ConfigKey, configKeys } from "../../../config/config-keys.ts";
import type { CommandContext } from "../../context.ts";

/** A word that can be typed, and its description. */
export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/** What can follow a sequence of commands, such as `hermes config set`. */
export interface Completion {
  readonly path: string;
  readonly verbs: readonly Candidate[];
  readonly options: readonly Candidate[];
  /** Values of the arguments, if only some are possible. */
  readonly values: readonly string[];
  /** The possible values of options that take only certain values. */
  readonly optionValues: ReadonlyMap<string, readonly string[]>;
}

/** A command of the table. */
export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{
    build(context: CommandContext, commands: readonly CommandRow[]): Command | Promise<Command>;
  }>;
}

/** Lists the completions of all commands of the table, and of all settings. */
export async function listCompletions(
  rows: readonly CommandRow[],
  context: CommandContext,
): Promise<readonly Completion[]> {
  const built = await Promise.all(rows.map(async ({ load }) => (await load()).build(context, rows)));
  const chat = built.find((command) => command.name() === "hermes chat");
  const root: Completion = {
    path: "hermes",
    verbs: [
      ...rows.map(({ name, summary }) => ({ word: name, meaning: summary })),
      { word: "help", meaning: "Show the help of a command" },
    ],
    options: [
      { word: "--profile", meaning: "run as this profile" },
      { word: "--version", meaning: "print the version" },
      ...(chat === undefined ? [] : optionsOf(chat)), // `chat` is the default command
    ],
    values: [],
    optionValues: chat === undefined ? new Map() : optionValuesOf(chat),
  };
  const keys = configKeys();
  const settings = keys.map(({ key }) => key);
  return [
    root,
    ...built.flatMap((command) => walk(command, command.name(), settings)),
    ...keys.map(valuesOf),
  ];
}

const WITH_SETTING = new Set(["get", "set", "unset", "explain"].map((verb) => `hermes config ${verb}`));

function walk(command: Command, path: string, settings: readonly string[]): Completion[] {
  const commands = command.createHelp().visibleCommands(command);
  const verbs = commands.flatMap((verb) =>
    [verb.name(), ...verb.aliases()].map((word) => ({ word, meaning: verb.description() })),
  );
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [
    {
      path,
      verbs,
      options: optionsOf(command),
      values: WITH_SETTING.has(path) ? settings : choices,
      optionValues: optionValuesOf(command),
    },
    ...commands.flatMap((verb) =>
      [verb.name(), ...verb.aliases()].flatMap((word) => walk(verb, `${path} ${word}`, settings)),
    ),
  ];
}

/** What can follow `config set KEY`: the choices of the setting, if it has any. */
function valuesOf({ key, type, values }: ConfigKey): Completion {
  const choices = type === "boolean" ? ["true", "false"] : (values ?? []);
  return {
    path: `hermes config set ${key}`,
    verbs: [],
    options: [],
    values: choices,
    optionValues: new Map(),
  };
}

function optionsOf({ options }: Command): Candidate[] {
  const visible = options.filter(({ hidden }) => !hidden);
  return [...visible.flatMap(({ long, description }) => (long ? { word: long, meaning: description } : []))];
}

function optionValuesOf({ options }: Command): ReadonlyMap<string, readonly string[]> {
  return new Map(
    options.flatMap(({ long, short, argChoices }) =>
      argChoices === undefined ? [] : [long, short].flatMap((flag) => (flag ? [[flag, argChoices]] : [])),
    ),
  );
}
