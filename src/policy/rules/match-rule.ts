import { isAbsolute, posix } from "node:path";
import type { Invocation } from "../shell-reader/invocation.ts";
import type { CommandReading } from "../shell-reader/read-command.ts";
import { runsOtherCommands, withoutGlobalOptions } from "./program-options.ts";
import type { Rule, RulePattern } from "./rule.ts";
import { matchesPath, matchesWildcard } from "./wildcard.ts";

/** One call as rules see it. */
export interface RuleSubject {
  readonly tool: string;
  readonly commands: readonly {
    readonly text: string;
    readonly reading: CommandReading;
    /** The texts that ask and deny rules are matched against. */
    readonly spellings: readonly string[];
  }[];
  /** The built-in classes that its commands belong to. */
  readonly classes: readonly string[];
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly hosts: readonly string[];
  /** What the programs of its commands read, write and contact. Only ask and deny rules consider it. */
  readonly used: Readonly<Record<"reads" | "writes" | "hosts", readonly string[]>>;
  readonly home: string | undefined;
  /** The folder in which its commands start. */
  readonly cwd: string;
  /** The folder that relative paths in rules start at. */
  readonly workspace: string;
}

/** Programs that need no allow rule of their own, so that `git push *` also allows `cd x && git push`. */
const NEUTRAL = new Set(["cd", "echo", "printf", "pwd", "true", ":", "test", "[", "set", "export", "sleep"]);

/**
 * Whether a rule applies. An allow rule must cover everything that the call would do; ask and deny rules apply if any part
 * of it matches.
 */
export function matchesRule(
  { pattern, effect, base }: Pick<Rule, "pattern" | "effect" | "base">,
  subject: RuleSubject,
): boolean {
  const own = base === undefined ? subject : { ...subject, workspace: base };
  return effect === "allow" ? covers(pattern, own) : matchesAnyPart(pattern, own);
}

function covers(pattern: RulePattern, subject: RuleSubject): boolean {
  const hasNoCommands = subject.commands.length === 0;
  switch (pattern.kind) {
    case "tool":
      return subject.tool === pattern.tool;
    case "class":
      return subject.classes.length > 0 && subject.classes.every((name) => pattern.names.includes(name));
    case "command":
      return (
        isInFolder(pattern, subject) &&
        subject.commands.length > 0 &&
        subject.commands.every(({ text, reading }) => coversCommand(pattern.glob, text, reading))
      );
    case "path": {
      const paths = pathsOf(pattern, subject, subject.tool);
      const others = pattern.access === "read" ? subject.writes : [];
      return (
        hasNoCommands &&
        paths.length > 0 &&
        others.length === 0 &&
        matchingPaths(paths, pattern.glob, subject).length === paths.length
      );
    }
    case "host":
      return (
        hasNoCommands &&
        subject.hosts.length > 0 &&
        subject.hosts.every((host) => matchesHost(host, pattern.glob))
      );
  }
}

function matchesAnyPart(pattern: RulePattern, subject: RuleSubject): boolean {
  switch (pattern.kind) {
    case "tool":
      return subject.tool === pattern.tool;
    case "class":
      return subject.classes.some((name) => pattern.names.includes(name));
    case "command": {
      if (!isInFolder(pattern, subject)) return false;
      const glob = collapse(pattern.glob.toLowerCase());
      return subject.commands.some(({ spellings }) => spellings.some((text) => matchesCommand(text, glob)));
    }
    case "path": {
      return [subject, subject.used].some(
        (files) => matchingPaths(pathsOf(pattern, files, subject.tool), pattern.glob, subject).length > 0,
      );
    }
    case "host":
      return [subject.hosts, subject.used.hosts].some((hosts) =>
        hosts.some((host) => matchesHost(host, pattern.glob)),
      );
  }
}

/** Every program of the command must match, and no redirection may write a file unless the pattern has a redirection too. */
function coversCommand(glob: string, text: string, { invocations, variables }: CommandReading): boolean {
  if (text.trim() === glob) return true;
  const shown = collapse(glob);
  const counted = invocations.filter(({ name, files }) => !NEUTRAL.has(name) || files.some(isWritten));
  return (
    counted.length > 0 &&
    counted.every(
      (one) =>
        !one.remote &&
        !one.isCut &&
        mayBegin(one, shown) &&
        (!one.files.some(isWritten) || glob.includes(">")) &&
        spellingsOf(one).some((spelling) => matchesCommand(collapse(spelling), shown)),
    ) &&
    !runsOtherCommands(invocations, variables)
  );
}

/** Whether a pattern and a program begin with the same character, which rules out most patterns. */
function mayBegin({ program, name }: Invocation, glob: string): boolean {
  const first = glob[0];
  return first === "*" || first === name[0] || first === program[0] || !/^\S/.test(program);
}

/**
 * The lower-cased texts that ask and deny rules are matched against: the command, each program with its arguments, and the
 * commands that these programs pass to a shell.
 */
export function spellCommand(text: string, readings: readonly CommandReading[]): readonly string[] {
  const spellings = new Set([collapse(text.toLowerCase())]);
  const add = (invocation: Invocation): void => {
    for (const spelling of spellingsOf(invocation)) spellings.add(collapse(spelling.toLowerCase()));
  };
  for (const { invocations } of readings)
    for (const invocation of invocations) {
      add(invocation);
      const plain = withoutGlobalOptions(invocation);
      if (plain !== invocation) add(plain);
    }
  return [...spellings];
}

/** A pattern that ends in ` *` also matches the command without further words. */
function matchesCommand(text: string, glob: string): boolean {
  return matchesWildcard(text, glob) || (glob.endsWith(" *") && matchesWildcard(text, glob.slice(0, -2)));
}

/** Replaces each run of blanks by one space. */
function collapse(text: string): string {
  const trimmed = text.trim();
  return trimmed.includes("  ") || trimmed.includes("\t") ? trimmed.replace(/[ \t]+/g, " ") : trimmed;
}

/** Whether the rule applies in the working folder. An answer "always" may add a rule for one folder. */
export function isInFolder(
  { folder }: { readonly folder?: string | undefined },
  { cwd }: RuleSubject,
): boolean {
  return folder === undefined || posix.join(folder, "/") === posix.join(cwd, "/");
}

function isWritten({ operator, path }: Invocation["files"][number]): boolean {
  return operator.includes(">") && path !== "/dev/null" && !/^\d$|^-$/.test(path);
}

/** The invocation with the program as written and, if that includes a folder, with its bare name. */
function spellingsOf({ program, name, args, files }: Invocation): readonly string[] {
  let rest = "";
  for (const word of args) rest += ` ${word}`;
  for (const file of files) if (isWritten(file)) rest += ` ${file.operator} ${file.path}`;
  return program === name ? [`${name}${rest}`] : [`${program}${rest}`, `${name}${rest}`];
}

function pathsOf(
  pattern: RulePattern & { kind: "path" },
  { reads, writes }: Pick<RuleSubject, "reads" | "writes">,
  tool: string,
): readonly string[] {
  if (pattern.tool !== undefined && pattern.tool !== tool) return [];
  if (pattern.access === "read") return reads;
  return pattern.access === "write" ? writes : [...reads, ...writes];
}

function matchingPaths(
  paths: readonly string[],
  glob: string,
  { home, workspace }: RuleSubject,
): readonly string[] {
  if (paths.length === 0) return [];
  const named = glob.startsWith("~/")
    ? `${home ?? "~"}${glob.slice(1)}`
    : isAbsolute(glob) || glob.startsWith("**/")
      ? glob
      : posix.join(workspace, glob);
  // A pattern that names a folder matches everything in it.
  const absolute = posix.normalize(named).replace(/\/$/, "/**");
  return paths.filter((path) => matchesPath(posix.normalize(path), absolute));
}

/** `*.example.com` also matches example.com itself. */
function matchesHost(host: string, glob: string): boolean {
  const name = host.toLowerCase();
  const pattern = glob.toLowerCase();
  return matchesWildcard(name, pattern) || (pattern.startsWith("*.") && name === pattern.slice(2));
}
