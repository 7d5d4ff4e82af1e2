import { AppError } from "../lib/errors.ts";
import { findClosest } from "../lib/text/did-you-mean.ts";
import { type KeyFacts, keyFacts } from "./key-facts.ts";
import { isUnimplemented } from "./unimplemented-settings.ts";
import { variableOf } from "./variable-name.ts";

/** One setting with its key, variables and flag. */
export interface ConfigKey extends Omit<KeyFacts, "env"> {
  readonly key: string;
  /** Variables that override the setting; messages name the first. */
  readonly env: readonly [string, ...string[]];
  readonly flag: string;
}

/** Every setting in schema order. */
export function configKeys(): readonly ConfigKey[] {
  return keyFacts().map(withNames);
}

/** Finds a setting by name, and the rest of the path if the name points into a map or list. Throws for an unknown name. */
export function requireKey(name: string, keys: readonly ConfigKey[]): { key: ConfigKey; inside: string[] } {
  const found = findKey(name, keys);
  if (found) return found;
  const refuse = (message: string, hint?: string): AppError =>
    new AppError("config-key-unknown", message, { ...(hint && { hint }) });
  if (isUnimplemented(name))
    throw refuse(
      `${name} is not implemented in this version and has no effect.`,
      "List the implemented settings with `hermes config keys`.",
    );
  const { length: count } = keys.filter((key) => key.key.startsWith(`${name}.`));
  if (count > 0)
    throw refuse(
      `${name} is a section with ${count} settings, not a setting.`,
      `See them with \`hermes config show ${name}\`.`,
    );
  const suggestion = suggestKey(name, keys);
  const hint = suggestion && `Did you mean ${suggestion}? List all with \`hermes config keys\`.`;
  throw refuse(`There is no setting ${name}.`, hint);
}

/** Like `requireKey`, but returns undefined for an unknown name. */
export function findKey(
  name: string,
  keys: readonly ConfigKey[],
): { key: ConfigKey; inside: string[] } | undefined {
  const exact = keys.find((key) => key.key === name);
  if (exact) return { key: exact, inside: [] };
  const container = keys.find((key) => isContainer(key) && name.startsWith(`${key.key}.`));
  return container && { key: container, inside: name.slice(container.key.length + 1).split(".") };
}

/** Suggests a setting for a misspelled name: a similar key, or a key of another section with a similar last word. */
export function suggestKey(name: string, keys: readonly ConfigKey[]): string | undefined {
  const similar = findClosest(
    name,
    keys.map((key) => key.key),
  );
  if (similar) return similar;
  const lastWord = name.slice(name.lastIndexOf(".") + 1);
  // Of keys with the same last word, the one with the shortest path is suggested: the others repeat it for one platform.
  const shortestLast = keys.toSorted((one, other) => other.path.length - one.path.length);
  const byLastWord = new Map(shortestLast.map((key) => [key.path.at(-1) ?? "", key.key]));
  const word = findClosest(lastWord, byLastWord.keys());
  return word === undefined ? undefined : byLastWord.get(word);
}

function isContainer(key: ConfigKey): boolean {
  return key.type === "map" || key.type === "list" || key.type === "integer|map";
}

function withNames(facts: KeyFacts): ConfigKey {
  const key = facts.path.join(".");
  return { ...facts, key, env: variablesOf(facts.path, facts.env), flag: `--${key}` };
}

/** The variables of a setting: an explicit one first, then the one that follows from the path. */
function variablesOf(path: readonly string[], explicit: string | undefined): readonly [string, ...string[]] {
  const computed = variableOf(path);
  return explicit === undefined || explicit === computed ? [computed] : [explicit, computed];
}
