import { COMMAND_CLASSES } from "../commands/command-classes.ts";
import type { RuleLayer } from "../decision.ts";

export type RuleEffect = "allow" | "ask" | "deny";

/** What a rule is matched against. */
export type RulePattern =
  /** Every call of one tool. */
  | { readonly kind: "tool"; readonly tool: string }
  /** Commands, in one folder or in all: `*` matches any text. */
  | { readonly kind: "command"; readonly glob: string; readonly folder?: string | undefined }
  /** Built-in classes of commands, such as `recursive-removal`; several are joined by `+`. */
  | { readonly kind: "class"; readonly names: readonly string[] }
  /** Files that are read or written, by any tool or by one. Relative globs start at the workspace. */
  | {
      readonly kind: "path";
      readonly access: "read" | "write" | "any";
      readonly tool: string | undefined;
      readonly glob: string;
    }
  | { readonly kind: "host"; readonly glob: string };

export interface Rule {
  readonly effect: RuleEffect;
  readonly pattern: RulePattern;
  /** The rule as it is written. */
  readonly text: string;
  readonly layer: RuleLayer;
  /** The folder that relative paths start at, if it is not the workspace: the root of the project that has the rule. */
  readonly base?: string | undefined;
}

/** The tools whose pattern in parentheses is a path, and how they use it. */
const PATH_TOOLS: Readonly<Record<string, "read" | "write" | "any">> = {
  read: "read",
  write: "write",
  read_file: "read",
  write_file: "write",
  patch: "write",
  search_files: "read",
};
const MAX_LENGTH = 2_000;

/**
 * Parses `TOOL(PATTERN)`, `TOOL`, `class:NAME`, `in(FOLDER): COMMAND` or a bare command pattern. Returns a description of the
 * problem if the rule is invalid. Without `knownTools`, the names of tools are not checked.
 */
export function parseRule(
  text: string,
  effect: RuleEffect,
  layer: RuleLayer,
  knownTools: ReadonlySet<string> | undefined,
): Rule | string {
  const pattern = parsePattern(text.trim(), knownTools);
  return typeof pattern === "string" ? pattern : { effect, pattern, text: text.trim(), layer };
}

function parsePattern(text: string, knownTools: ReadonlySet<string> | undefined): RulePattern | string {
  if (text === "") return "is empty";
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (text.startsWith("class:")) return parseClasses(text.slice("class:".length).split("+"));
  if (/^class\s*:/i.test(text)) return 'must begin with "class:"';
  if (/^in\s*\(/.test(text)) return parseInFolder(text);
  // Without its closing parenthesis, `write(docs/**` is not a command that a shell accepts either.
  const [, opened] = /^([A-Za-z]\w*)\(/.exec(text) ?? [];
  if (opened === undefined)
    return knownTools?.has(text) ? { kind: "tool", tool: text } : { kind: "command", glob: text };
  if (!text.endsWith(")")) return `has text after "${opened}(…)", or its parentheses are not closed`;
  return parseToolPattern(opened, text.slice(opened.length + 1, -1), knownTools);
}

function parseToolPattern(
  name: string,
  inner: string,
  knownTools: ReadonlySet<string> | undefined,
): RulePattern | string {
  if (inner.trim() === "") return "has no pattern between its parentheses";
  if (name === "host")
    return /[/:\s]/.test(inner) && !/^\[?[0-9a-f:*]+\]?$/i.test(inner)
      ? "takes the name of a host, without a scheme, a port or a path"
      : { kind: "host", glob: inner };
  const access = Object.hasOwn(PATH_TOOLS, name) ? PATH_TOOLS[name] : undefined;
  if (access !== undefined) {
    const tool = name === "read" || name === "write" ? undefined : name;
    return { kind: "path", access, tool, glob: inner.trim() };
  }
  if (name === "terminal")
    return inner === "*" ? { kind: "tool", tool: name } : parsePattern(inner.trim(), undefined);
  if (knownTools !== undefined && !knownTools.has(name)) return `names an unknown tool "${name}"`;
  if (inner === "*") return { kind: "tool", tool: name };
  return knownTools === undefined
    ? `names a tool "${name}" that is unknown or takes no pattern except *`
    : `"${name}" takes no pattern except *`;
}

function parseInFolder(text: string): RulePattern | string {
  const [, folder, glob] = /^in\((\/[^()*]*)\):\s*(\S.*)$/s.exec(text) ?? [];
  return folder === undefined || glob === undefined
    ? "must be written `in(/FOLDER): COMMAND`"
    : { kind: "command", glob, folder };
}

/** A rule for a command in one folder; undefined if the syntax of rules cannot express the folder. */
export function formatInFolder(folder: string, command: string): string | undefined {
  return /^\/[^()*\n]*$/.test(folder) ? `in(${folder}): ${command}` : undefined;
}

function parseClasses(names: readonly string[]): RulePattern | string {
  const unknown = names.find((name) => !Object.hasOwn(COMMAND_CLASSES, name));
  return unknown === undefined ? { kind: "class", names } : `names an unknown class "${unknown}"`;
}
