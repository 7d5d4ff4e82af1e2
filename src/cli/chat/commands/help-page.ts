import type { KeyBindings } from "../input/key-bindings.ts";
import { KEY_NAMES, KEY_TABLE, type KeyName } from "../input/key-table.ts";
import type { ChatCommand } from "./chat-command.ts";

/** The keys that a new user needs, in a few words each. */
const SHORT: readonly (readonly (readonly [KeyName, string])[])[] = [
  [
    ["send", "send"],
    ["new_line", "new line"],
    ["editor", "editor"],
    ["stop", "stop"],
    ["interrupt", "clear, stop"],
  ],
  [
    ["complete", "complete"],
    ["up", "history"],
    ["search", "search it"],
    ["output", "last output"],
    ["palette", "palette"],
  ],
];

/** The most used keys and the names of the commands. */
export function helpPage(commands: readonly ChatCommand[], keys: KeyBindings): string[] {
  const rows = SHORT.map((row) =>
    row.flatMap(([name, words]) => (keys.label(name) === undefined ? [] : [`${keys.label(name)} ${words}`])),
  );
  return [
    ...rows.map((row) => row.join(" · ")),
    "@file adds a file · !command runs without the model · all keys: /keys",
    commands.map(({ name }) => `/${name}`).join(" "),
    "What a command does: /help WORD · what all of them do: /help all",
  ];
}

/** All commands with their summaries. */
export function commandPage(commands: readonly ChatCommand[]): string[] {
  const names = commands.map(({ name, argument = "" }) => `/${name} ${argument}`.trim());
  const width = Math.min(24, Math.max(...names.map((name) => name.length)));
  return commands.map(({ summary }, at) => `${(names[at] ?? "").padEnd(width)}  ${summary}`);
}

/** The help of one command. */
export function helpOf({ name, argument = "", summary, aliases = [], availability }: ChatCommand): string[] {
  return [
    `/${name} ${argument}`.trim(),
    `  ${summary}`,
    ...(aliases.length === 0 ? [] : [`  also: ${aliases.map((alias) => `/${alias}`).join(", ")}`]),
    availability === "idle" ? "  only while no turn runs" : "  at any time",
  ];
}

/** Every action with its keys and the name of its setting. */
export function keyPage(keys: KeyBindings): string[] {
  const rows = KEY_NAMES.map((name) => [keys.labels(name).join(", ") || "none", name] as const);
  const [first, second] = [0, 1].map((at) => Math.max(...rows.map((row) => row[at as 0 | 1].length)));
  return [
    ...rows.map(
      ([label, name]) =>
        `${label.padEnd(first ?? 0)}  ${name.padEnd(second ?? 0)}  ${KEY_TABLE[name].description}`,
    ),
    "Change one with /config display.keys.NAME ctrl+s; none removes its key.",
  ];
}
