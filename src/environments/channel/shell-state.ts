import { quoteWord } from "./quote.ts";

/** The exports and definitions of a shell, parsed so that only the difference is sent to the next command. */
export interface ShellState {
  readonly cwd: string;
  /** Exported variables by name, each as the shell text that exports it. */
  readonly exports: ReadonlyMap<string, string>;
  /** Functions and aliases, as shell text. */
  readonly definitions: string;
}

// bash prints `declare -x NAME="…"` (or $'…'), other shells `export NAME='…'`; values may span lines.
const EXPORT =
  /(?:declare -([A-Za-z]+)|export) ([A-Za-z_][A-Za-z0-9_]*)(=(?:"(?:[^"\\]|\\[\s\S])*"|\$?'(?:[^'\\]|\\[\s\S])*'|\\[\s\S]|[^\s"'\\])*)?\n/y;

/** Parses the state dump of a command; undefined if the dump is incomplete, in which case the old state remains valid. */
export function parseShellState(dump: string): ShellState | undefined {
  const end = dump.indexOf("\n");
  const cwd = dump.slice(0, end);
  if (end === -1 || !cwd.startsWith("/")) return undefined;
  const exports = new Map<string, string>();
  let position = end + 1;
  for (;;) {
    EXPORT.lastIndex = position;
    const match = EXPORT.exec(dump);
    if (!match?.[2]) break;
    exports.set(match[2], `export ${match[2]}${match[3] ?? ""}\n`);
    position += match[0].length;
  }
  const definitions = dump.slice(position);
  return /^(declare -|export )/.test(definitions) ? undefined : { cwd, exports, definitions };
}

/** Shell text that changes a fresh shell from the state `base` to the state `wanted`. */
export function formatStateDifference(
  base: ShellState,
  wanted: ShellState,
  previousCwd: string | undefined,
): string {
  const removed = [...base.exports.keys()].filter((name) => !wanted.exports.has(name));
  const changed = [...wanted.exports]
    .filter(([name, text]) => base.exports.get(name) !== text)
    .map(([, text]) => text);
  return [
    removed.length > 0 ? `unset ${removed.join(" ")}\n` : "",
    ...changed,
    wanted.definitions === base.definitions ? "" : wanted.definitions,
    previousCwd === undefined ? "" : `export OLDPWD=${quoteWord(previousCwd)}\n`,
  ].join("");
}
