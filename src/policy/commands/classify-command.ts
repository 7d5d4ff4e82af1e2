import { dirname } from "node:path/posix";
import { checkReading } from "../hardline/check-hardline.ts";
import { formatInvocation, type Invocation, nameOf } from "../shell-reader/invocation.ts";
import { LimitReached, Meter } from "../shell-reader/meter.ts";
import { type CommandReading, readCommand } from "../shell-reader/read-command.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import { quoteWords } from "./arguments.ts";
import { type CodeLanguage, codeSourceOf, findInterpreter } from "./code/interpreters.ts";
import { modulesInArguments, modulesLoadedBy } from "./code/loaded-modules.ts";
import { recipesRunBy } from "./code/written-recipes.ts";
import type { CommandFacts, Match } from "./command-classes.ts";
import { fetchedBy, findFetchedFiles } from "./fetched-files.ts";
import { inspectCode } from "./inline-code.ts";
import { type LaunchedText, launchedBy } from "./launched-texts.ts";
import { checkAgentControl, checkNestedAgents } from "./rules/agents.ts";
import type { ClassRule, RuleContext } from "./rules/class-rule.ts";
import { checkHiddenCode, checkUnknownProgram } from "./rules/code.ts";
import { checkContainers } from "./rules/containers.ts";
import { checkDatabases } from "./rules/databases.ts";
import { checkDisks } from "./rules/disks.ts";
import { checkCredentials, checkWrittenFiles } from "./rules/files.ts";
import { checkGit } from "./rules/git.ts";
import { checkMetadata, checkRemoteShell, checkUpload } from "./rules/network.ts";
import { checkPermissions, checkPrivileges, checkSystemSettings } from "./rules/privileges.ts";
import { checkPublishing } from "./rules/publishing.ts";
import { checkRemoval } from "./rules/removal.ts";
import { checkKills, checkSchedules, checkServices, checkTraces } from "./rules/services.ts";
import { checkVariables } from "./rules/variables.ts";
import { checkWindows } from "./rules/windows.ts";
import { locate } from "./sensitive-paths.ts";
import { findWrittenScripts, inputFilesOf, scriptRunBy, scriptsReadByShell } from "./written-scripts.ts";

/** A reason why a command needs an answer. */
export interface Finding extends Match {
  /** The part of the text that has the effect, for display. */
  readonly command: string;
}

const RULES: readonly ClassRule[] = [
  checkRemoval,
  checkGit,
  checkPrivileges,
  checkPermissions,
  checkSystemSettings,
  checkWrittenFiles,
  checkCredentials,
  checkUpload,
  checkRemoteShell,
  checkHiddenCode,
  checkUnknownProgram,
  checkMetadata,
  checkServices,
  checkSchedules,
  checkKills,
  checkAgentControl,
  checkNestedAgents,
  checkTraces,
  checkDatabases,
  checkContainers,
  checkPublishing,
  checkDisks,
  checkWindows,
];
const MAX_NESTING = 5;
const MAX_TEXTS = 200;
const MAX_MODULES = 20;
const MAX_FINDINGS = 50;

/**
 * Finds the parts of a command that may destroy, leak or change something outside the usual work in a project. Without
 * findings, the command may run unasked. Takes a number of steps that is linear in the size of the reading.
 */
export function classifyCommand(
  reading: CommandReading,
  facts: CommandFacts,
  meter: Meter = new Meter(sizeOf(reading)),
): readonly Finding[] {
  return inspectCommand(reading, facts, meter).findings;
}

interface CommandInspection {
  readonly findings: readonly Finding[];
  readonly nested: readonly CommandReading[];
  /** The parts of the command whose inline code uses the network. */
  readonly networkCode: readonly string[];
}

/** Returns the findings, with the readings of all texts that programs of the command pass to a shell. */
export function inspectCommand(
  reading: CommandReading,
  facts: CommandFacts,
  meter: Meter = new Meter(sizeOf(reading)),
): CommandInspection {
  const classifier = new Classifier(facts, meter);
  const { findings, nested, networkCode } = classifier;
  try {
    classifier.read(reading, 0, undefined);
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return { findings: [...findings, { ...UNREADABLE, command: "" }], nested, networkCode };
  }
  return { findings, nested, networkCode };
}

/** The number of characters in the arguments and inputs of all programs. */
function sizeOf({ invocations }: CommandReading): number {
  let size = 0;
  for (const { program, args, input } of invocations) {
    size += program.length;
    for (const text of args) size += text.length + 1;
    for (const text of input) size += text.length;
  }
  return size;
}

class Classifier {
  readonly findings: Finding[] = [];
  readonly nested: CommandReading[] = [];
  readonly networkCode: string[] = [];
  readonly #facts: CommandFacts;
  readonly #meter: Meter;
  readonly #known = new Set<string>();
  #texts = 0;

  constructor(facts: CommandFacts, meter: Meter) {
    this.#facts = facts;
    this.#meter = meter;
  }

  /** Applies all rules; `shown` is the command around a nested text. */
  read({ invocations, variables }: CommandReading, nesting: number, shown: string | undefined): void {
    if (variables.size > 0)
      this.#add(
        checkVariables(variables, this.#facts.cwd, this.#facts),
        shown ?? [...variables.keys()].join(" "),
      );
    const context: RuleContext = {
      facts: this.#facts,
      fetched: findFetchedFiles(invocations),
      fetches: invocations.some((invocation) => fetchedBy(invocation) !== undefined),
    };
    const scripts = findWrittenScripts(invocations, this.#facts.contentOf);
    for (const invocation of invocations) {
      if (this.findings.length >= MAX_FINDINGS) return;
      this.#meter.step(1 + invocation.args.length);
      const command = shown ?? formatInvocation(invocation);
      for (const rule of RULES) this.#add(rule(invocation, context), command);
      this.#add(checkVariables(assignedBy(invocation), invocation.cwd, this.#facts), command);
      this.#code(invocation, scripts, nesting, command);
      for (const path of [scriptRunBy(invocation), ...scriptsReadByShell(invocation)]) {
        const script = this.#scriptAt(path, scripts);
        if (script !== undefined) this.#script(script, invocation, nesting, command);
      }
      for (const { text, isElsewhere } of launchedBy(invocation))
        this.#nested({ text: withInput(text, invocation), isElsewhere }, invocation, nesting, command);
      const contentOf = (path: string) => this.#scriptAt(path, scripts);
      for (const text of [...exportedTexts(invocation), ...recipesRunBy(invocation, contentOf)])
        this.#nested({ text, isElsewhere: false }, invocation, nesting, command);
    }
  }

  #add(match: Match | undefined, command: string): void {
    if (!match) return;
    const key = `${match.class} ${command}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.findings.push({ ...match, command });
  }

  /** Inspects the program that an interpreter gets on its command line or from its input. */
  #code(
    invocation: Invocation,
    scripts: ReadonlyMap<string, string>,
    nesting: number,
    command: string,
  ): void {
    const interpreter = findInterpreter(invocation.name);
    if (!interpreter) return;
    const source = codeSourceOf(invocation.texts, interpreter);
    const codes = [];
    if (source.kind === "text") codes.push(source.text);
    else if (source.kind === "input")
      codes.push(
        ...invocation.input,
        ...inputFilesOf(invocation).map((path) => this.#scriptAt(path, scripts) ?? ""),
      );
    else if (source.kind === "file")
      codes.push(this.#scriptAt(locate(source.path, invocation.cwd), scripts) ?? "");
    const { language } = interpreter;
    const folder =
      source.kind === "file" ? dirname(locate(source.path, invocation.cwd)) : locate(".", invocation.cwd);
    for (const path of modulesInArguments(invocation.args, language, locate(".", invocation.cwd)))
      codes.push(this.#scriptAt(path, scripts) ?? "");
    for (const code of this.#withModules(codes, language, folder, scripts))
      this.#inspect(code, language, invocation, nesting, command);
  }

  /** Adds the texts of modules that the code loads, if the session has written them. */
  #withModules(
    codes: readonly string[],
    language: CodeLanguage,
    folder: string,
    scripts: ReadonlyMap<string, string>,
  ): readonly string[] {
    const all = new Set(codes.filter((code) => code !== ""));
    for (const code of all)
      for (const path of modulesLoadedBy(code, language, folder)) {
        const text = this.#scriptAt(path, scripts);
        if (text !== undefined && all.size < MAX_MODULES) all.add(text);
      }
    return [...all];
  }

  /** The content of a script, if this command or an earlier call of the session has written it. */
  #scriptAt(path: string | undefined, scripts: ReadonlyMap<string, string>): string | undefined {
    return path === undefined ? undefined : (scripts.get(path) ?? this.#facts.contentOf?.(path));
  }

  /** Inspects a script in the language that its first line names. Without a `#!` line it is a shell script. */
  #script(text: string, invocation: Invocation, nesting: number, command: string): void {
    const [, program = "", next = ""] = /^#!\s*(\S+)(?:[ \t]+(?:-S\s+)?(\S+))?/.exec(text) ?? [];
    const interpreter = findInterpreter(nameOf(nameOf(program) === "env" ? next : program));
    if (interpreter) this.#inspect(text, interpreter.language, invocation, nesting, command);
    else this.#nested({ text, isElsewhere: false }, invocation, nesting, command);
  }

  #inspect(
    code: string,
    language: CodeLanguage,
    invocation: Invocation,
    nesting: number,
    command: string,
  ): void {
    if (!this.#charge(code, nesting, command)) return;
    const { matches, commands, usesNetwork } = inspectCode(code, language, invocation.cwd, this.#facts);
    if (usesNetwork) this.networkCode.push(command);
    for (const match of matches) this.#add(match, command);
    for (const text of commands) this.#nested({ text, isElsewhere: false }, invocation, nesting, command);
  }

  #nested({ text, isElsewhere }: LaunchedText, { cwd }: Invocation, nesting: number, command: string): void {
    if (!this.#charge(text, nesting, command)) return;
    const reading = readCommand(text, { ...this.#facts, cwd }, this.#meter);
    // A text that no shell can parse starts nothing, and the program that expects it reports the error.
    if ("unreadable" in reading) {
      if (reading.unreadable === "limits") this.#add(UNREADABLE, command);
      return;
    }
    if (!isElsewhere && checkReading(reading, { home: this.#facts.home }))
      this.#add(
        { class: "system-destruction", effect: "would destroy the system or stop the machine" },
        command,
      );
    if (!isElsewhere) this.nested.push(reading);
    this.read(reading, nesting + 1, command);
  }

  /** Whether one more text may be read. A command with too much nested code to read needs an answer. */
  #charge(text: string, nesting: number, command: string): boolean {
    this.#texts += 1;
    this.#meter.step(text.length);
    if (nesting < MAX_NESTING && this.#texts <= MAX_TEXTS) return true;
    this.#add(UNREADABLE, command);
    return false;
  }
}

/** Exported values that may be commands. An export outlives the call, so a later call can run it with `$NAME`. */
function exportedTexts({ name, args }: Invocation): readonly string[] {
  if (!/^(?:export|declare|typeset)$/.test(name)) return [];
  const values = args.flatMap((word) => /^[A-Za-z_]\w*=(.+)$/s.exec(word)?.[1] ?? []);
  return values.filter((value) => /\S\s+\S/.test(value) && !value.startsWith(UNKNOWN));
}

/** The variables that `env` and similar programs set for the program that they start. */
function assignedBy({ name, args }: Invocation): ReadonlyMap<string, readonly string[]> {
  if (!VARIABLE_SETTERS.has(name)) return NO_VARIABLES;
  return new Map(
    args.flatMap((word) => {
      const [, variable, value = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
      return variable === undefined ? [] : [[variable, [value]] as const];
    }),
  );
}

const VARIABLE_SETTERS = new Set(["env", "sudo", "doas", "cross-env", "systemd-run"]);
const NO_VARIABLES: ReadonlyMap<string, readonly string[]> = new Map();

/** The text, plus the known standard input of the program that passes it on. */
function withInput(text: string, { input }: Invocation): string {
  return input.length === 0 ? text : `${text} <<< ${quoteWords([input.join("\n")])}`;
}

const UNREADABLE: Match = { class: "decoded-code", effect: "contains more nested code than can be checked" };
