import { decodeKittyPrintable, type KeyId, matchesKey } from "@earendil-works/pi-tui";
import { KEY_NAMES, KEY_TABLE, type KeyName } from "./key-table.ts";

/** The keys of `KEY_TABLE` with the changes of the settings. */
export interface KeyBindings {
  /** The action of a key; `waiting` after the first of two keys, undefined for text and for keys without an action. */
  read(sequence: string): KeyName | "waiting" | undefined;
  /** The first key of an action in readable form, such as `Ctrl+S`; undefined if the action has no key. */
  label(name: KeyName): string | undefined;
  /** All keys of an action in readable form. */
  labels(name: KeyName): readonly string[];
}

export type KeySettings = Readonly<Partial<Record<KeyName, string>>>;

export function createKeyBindings(settings: KeySettings = {}): KeyBindings {
  const keysOf = (name: KeyName): readonly string[] => {
    const text = settings[name] ?? KEY_TABLE[name].keys.join(", ");
    return text === "none" ? [] : text.split(/, */);
  };
  const bound = KEY_NAMES.flatMap((name) => keysOf(name).map((keys) => ({ name, keys: keys.split(" ") })));
  let first: string | undefined;
  return {
    read(sequence) {
      const before = first;
      first = undefined;
      if (before !== undefined) {
        const pair = bound.find(
          ({ keys: [one, two] }) => two !== undefined && matches(before, one) && matches(sequence, two),
        );
        if (pair !== undefined) return pair.name;
      }
      const alone = bound.find(({ keys }) => keys.length === 1 && matches(sequence, keys[0]));
      if (alone !== undefined) return alone.name;
      if (!bound.some(({ keys }) => keys.length === 2 && matches(sequence, keys[0]))) return undefined;
      first = sequence;
      return "waiting";
    },
    label: (name) => keysOf(name).map(labelOf)[0],
    labels: (name) => keysOf(name).map(labelOf),
  };
}

function matches(sequence: string, key: string | undefined): boolean {
  return key !== undefined && matchesKey(sequence, key as KeyId);
}

/** The text that a key types, or undefined for a key that types none. */
export function typedText(sequence: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the form in which tmux sends keys with modifiers
  const other = /^\u001b\[27;[12];(\d+)~$/.exec(sequence)?.[1];
  if (other !== undefined) return Number(other) >= 32 ? String.fromCodePoint(Number(other)) : undefined;
  const typed = decodeKittyPrintable(sequence) ?? sequence;
  return /^\p{Cc}/u.test(typed) ? undefined : typed;
}

const NAMES: Readonly<Record<string, string>> = {
  escape: "Esc",
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  delete: "Del",
};

function labelOf(keys: string): string {
  return keys
    .split(" ")
    .map((key) =>
      key
        .split(/\+(?=.)/)
        .map((part) => NAMES[part] ?? part.charAt(0).toUpperCase() + part.slice(1))
        .join("+"),
    )
    .join(" ");
}
