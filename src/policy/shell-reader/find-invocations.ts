import { type Invocation, type Naming, nameOf, type OpenedFile } from "./invocation.ts";
import { LimitReached, type Meter } from "./meter.ts";
import { parseShell } from "./parse-shell.ts";
import { expandXargs } from "./programs/expand-xargs.ts";
import { foundBy, parseFindArguments } from "./programs/parse-find-arguments.ts";
import { isStandardInput, parseShellArguments } from "./programs/parse-shell-arguments.ts";
import { unwrapCommand } from "./programs/unwrap-command.ts";
import { MAX_VALUE_LENGTH, Scope, UNKNOWN, UNKNOWN_HOME } from "./scope.ts";
import type {
  Assignment,
  Command,
  CompoundCommand,
  Pipeline,
  Redirection,
  Script,
  SimpleCommand,
  Word,
} from "./syntax.ts";
import { Upstream } from "./upstream.ts";
import { evaluateOutput } from "./values/evaluate-output.ts";
import { separatorOf } from "./values/expand-word.ts";
import { mayRunCode } from "./values/may-run-code.ts";
import { normalizeWord } from "./values/normalize-word.ts";
import { matchesGlob } from "./values/parameter-operators.ts";
import { StaticEvaluator } from "./values/static-evaluator.ts";

export interface ScriptFindings {
  readonly invocations: readonly Invocation[];
  readonly functions: readonly CompoundCommand[];
  /** All variables that the text sets, for itself or for a program, with their possible values. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** Why the text, or a nested text that another shell on this machine would run, cannot be parsed. */
  readonly malformed: string | undefined;
  /** Whether the shell evaluates values as arithmetic, subscripts or prompts. Commands hidden in such values would run. */
  readonly evaluates: boolean;
}

export interface ShellFacts {
  readonly home: string | undefined;
  /** The working folder in which the text starts, if known. */
  readonly cwd?: string | undefined;
  /** The value of HERMES_HOME, if known. */
  readonly hermesHome?: string | undefined;
}

const DECLARERS = new Set(["export", "declare", "typeset", "local", "readonly"]);
const SHELL_STARTERS = new Set(["ssh", "sudo", "su", "doas"]);
/** The programs that a pattern in place of a program, such as `/bin/r?`, is matched against. */
const GLOB_CANDIDATES = "rm shred dd mv chmod chown find sh bash kill reboot shutdown wipefs mkfs".split(" ");
const MAX_GLOB_LENGTH = 40;
const SYSTEM_PROGRAM = /^\/(?:usr\/)?(?:local\/)?s?bin\/[^/]+$/;
const MAX_OPENED = 4;
/** Variables whose value a program runs as a command. */
const COMMAND_VARIABLES =
  /^(?:GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|EDITOR|SEQUENCE_EDITOR|PAGER|ASKPASS|PROXY_COMMAND)|PROMPT_COMMAND|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|SSH_ASKPASS|SUDO_ASKPASS|SUDO_EDITOR|RSYNC_RSH|LESSOPEN|LESSCLOSE)$/;
/** Variables whose values a shell expands, which runs the substitutions in them. */
const EXPANDED_VARIABLES = /^(?:BASH_ENV|ENV|PS[04])$/;
const MAX_LAYERS = 24;
// The body of a function is read once per call, so the number of calls that are followed is limited.
const MAX_CALLS = 32;
const MAX_CALL_STEPS = 100_000;

/**
 * Finds every program that a text would start, including programs in substitutions, compound commands, wrappers,
 * `sh -c`, `eval`, here-documents for a shell and `find -exec`. Throws only {@link LimitReached}.
 */
export function findInvocations(text: string, facts: ShellFacts, meter: Meter): ScriptFindings {
  const walk = new Walk(meter);
  const scope = new Scope();
  scope.cwd = facts.cwd;
  const home = facts.home ?? UNKNOWN_HOME;
  scope.assign("HOME", [home], true);
  if (facts.hermesHome !== undefined) scope.assign("HERMES_HOME", [facts.hermesHome], true);
  scope.assign("IFS", [" "], true);
  for (const name of ["USER", "LOGNAME"]) scope.assign(name, [home.split("/").at(-1) || UNKNOWN], true);
  const { script, malformed: own } = parseShell(text, meter);
  walk.script(script, scope, undefined, true, Upstream.begin());
  const { invocations, functions, variables, evaluates } = walk;
  return { invocations, functions, variables, evaluates, malformed: own ?? walk.malformed };
}

/** Rules about variables treat a variable with more values as unknown. */
const MAX_RECORDED_VALUES = 16;

/** The context in which a program is started, apart from its words. */
interface Start {
  readonly scope: Scope;
  readonly files: readonly OpenedFile[];
  /** Known texts that the program could read: its standard input and the process substitutions in its arguments. */
  readonly input: readonly string[];
  readonly upstream: Upstream<Invocation>;
  readonly remote: boolean;
  readonly isCut: boolean;
  /** Where the first word comes from, if its value is unknown. */
  readonly naming: Naming;
  /** Whether the command is certain to run, so that its assignments replace earlier values. */
  readonly certain: boolean;
}

class Walk {
  readonly invocations: Invocation[] = [];
  readonly functions: CompoundCommand[] = [];
  readonly variables = new Map<string, readonly string[]>();
  malformed: string | undefined;
  evaluates = false;
  readonly #meter: Meter;
  readonly #texts: StaticEvaluator;
  /** The functions and aliases of the text by name. */
  readonly #callables = new Map<string, CompoundCommand | string>();
  readonly #called = new Set<string>();
  /** Copies of and links to programs of the system, by their paths. */
  readonly #copies = new Map<string, string>();
  /** Known texts that `exec` makes the input of the shell itself. */
  readonly #opened: string[] = [];
  #calls = 0;
  #callSteps = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#texts = new StaticEvaluator(meter);
  }

  script(
    script: Script,
    scope: Scope,
    input: string | undefined,
    certain: boolean,
    upstream: Upstream<Invocation>,
  ): void {
    this.#meter.within(() => {
      for (const pipeline of script.pipelines) this.#pipeline(pipeline, scope, input, certain, upstream);
    });
  }

  #pipeline(
    { stages, background, conditional }: Pipeline,
    scope: Scope,
    input: string | undefined,
    certain: boolean,
    outer: Upstream<Invocation>,
  ): void {
    let text = input;
    let upstream = stages.length > 1 ? Upstream.begin(outer) : outer;
    for (const stage of stages) {
      const own = stages.length > 1 || background ? new Scope(scope) : scope;
      const from = this.invocations.length;
      this.#command(stage, own, text, certain && !conditional, upstream);
      if (stages.length > 1) upstream = this.#after(upstream, from);
      if (stages.length > 1) text = this.#texts.printedByCommand(stage, scope, text);
    }
  }

  /** Returns `upstream` with the invocations since `from` added. */
  #after(upstream: Upstream<Invocation>, from: number): Upstream<Invocation> {
    const added = this.invocations.slice(from);
    this.#meter.step(added.length);
    return upstream.after(added);
  }

  #command(
    command: Command,
    scope: Scope,
    input: string | undefined,
    certain: boolean,
    outer: Upstream<Invocation>,
  ): void {
    const from = this.invocations.length;
    const files = this.#openedFiles(command.redirections, scope);
    this.#insideWords(command.words, scope);
    const text = this.#texts.inputOf(command.redirections, scope) ?? input;
    const upstream = this.invocations.length > from ? this.#after(Upstream.begin(outer), from) : outer;
    if (command.kind === "simple") this.#simple(command, { scope, files, text, certain, upstream });
    else {
      if (files.length > 0)
        this.#record("", [], {
          scope,
          files,
          input: [],
          upstream,
          remote: false,
          isCut: false,
          naming: "text",
          certain,
        });
      this.#compound(command, scope, text, upstream);
    }
  }

  #compound(
    command: CompoundCommand,
    scope: Scope,
    input: string | undefined,
    upstream: Upstream<Invocation>,
  ): void {
    const { type, name, words, parts } = command;
    if (type === "function") {
      this.functions.push(command);
      this.#callables.set(name, command);
    }
    if (type === "loop" && name !== "") scope.assign(name, this.#texts.expand(words, scope).fields, false);
    const own = type === "subshell" || type === "function" ? new Scope(scope) : scope;
    for (const part of parts)
      this.script(part, own, input, type === "group" || type === "subshell", upstream);
  }

  #simple(
    { words, assignments, redirections }: SimpleCommand,
    {
      scope,
      files,
      text,
      certain,
      upstream,
    }: Pick<Start, "scope" | "files" | "certain" | "upstream"> & { text: string | undefined },
  ): void {
    for (const { index, indexText, values } of assignments) {
      this.#insideWords([index, ...values], scope);
      this.evaluates ||= mayRunCode({ as: "arithmetic", text: indexText }, scope);
    }
    const { fields, isCut } = this.#texts.expand(words, scope);
    // Assignments before a command apply to that command only.
    const own = words.length > 0 && assignments.length > 0 ? new Scope(scope) : scope;
    for (const assignment of assignments) this.#assign(assignment, own, certain);
    const input: string[] = [];
    for (const word of [...words, ...redirections.map(({ target }) => target)])
      for (const piece of word) {
        const printed = piece.kind === "process" ? this.#texts.printedBy(piece.script, scope) : undefined;
        if (printed !== undefined) input.push(printed);
      }
    if (text !== undefined) input.push(text);
    const naming = namingOf(words[0] ?? [], scope);
    const start = { scope: own, files, input, upstream, remote: false, isCut, naming, certain };
    for (const { name } of assignments)
      for (const value of own.valuesOf(name) ?? []) this.#commandVariable(name, value, start);
    this.#start(fields, start, 0);
  }

  #assign({ name, appends, isArray, indexText, values }: Assignment, scope: Scope, certain: boolean): void {
    const { fields } = this.#texts.expand(values, scope);
    if (isArray || indexText !== "") {
      const kept = appends || indexText !== "" ? (scope.valuesOf(name) ?? []) : [];
      this.#store(name, [...kept, ...fields], scope, certain);
      return;
    }
    // The shell does not split a single word in an assignment.
    const added = values.length === 1 ? [fields.join(" ")] : fields;
    const earlier = appends ? (scope.valuesOf(name) ?? [UNKNOWN]) : [""];
    this.#store(
      name,
      earlier.flatMap((head) => added.map((tail) => head + tail)),
      scope,
      certain,
    );
  }

  #store(name: string, values: readonly string[], scope: Scope, certain: boolean): void {
    scope.assign(name, values, certain);
    const all = new Set([...(this.variables.get(name) ?? []), ...values]);
    this.variables.set(name, all.size > MAX_RECORDED_VALUES ? [UNKNOWN] : [...all]);
  }

  /** Reads the value of a variable that programs run as a command. */
  #commandVariable(name: string, value: string, start: Start): void {
    const isExpanded = EXPANDED_VARIABLES.test(name);
    if (value === "" || value === UNKNOWN || !(isExpanded || COMMAND_VARIABLES.test(name))) return;
    const { malformed } = this;
    const text = isExpanded ? `: ${value}` : value.replace(/^\|+-?/, "");
    this.#text(text, { ...start, files: [], input: [] }, false);
    // An error in the value is reported by the program that runs it.
    this.malformed = malformed;
  }

  /** Remembers the path at which `ln` or `cp` puts a program of the system. */
  #copiedProgram(args: readonly string[], { cwd }: Scope): void {
    const [source = "", target = "", ...more] = args.filter((word) => !word.startsWith("-"));
    if (more.length === 0 && (SYSTEM_PROGRAM.test(source) || GLOB_CANDIDATES.includes(source)))
      this.#copies.set(pathIn(target, cwd), source);
  }

  /** Reads the substitutions inside words. */
  #insideWords(words: readonly Word[], scope: Scope): void {
    for (const word of words)
      for (const piece of word) {
        this.#meter.step();
        if (piece.kind === "substitution" || piece.kind === "process")
          this.script(piece.script, new Scope(scope), undefined, true, Upstream.begin());
        else if (piece.kind === "variable") this.#insideWords([piece.operand], scope);
        else if (piece.kind === "parameter") this.#insideWords([piece.inner], scope);
        else if (piece.kind === "unknown") {
          this.#insideWords([piece.inner], scope);
          if (piece.evaluation?.as === "set") scope.assign(piece.evaluation.text, ["0"], true);
          else if (piece.evaluation) this.evaluates ||= mayRunCode(piece.evaluation, scope);
        }
      }
  }

  #openedFiles(redirections: readonly Redirection[], scope: Scope): OpenedFile[] {
    const files: OpenedFile[] = [];
    for (const { operator, target } of redirections) {
      this.#insideWords([target], scope);
      if (operator.startsWith("<<")) continue;
      for (const path of this.#texts.expand([target], scope).fields)
        files.push({ operator, path: normalizeWord(path) });
    }
    return files;
  }

  /** Records a program that is started, and every program that it starts. */
  #start(words: readonly string[], start: Start, layers: number): void {
    if (layers > MAX_LAYERS) throw new LimitReached(`more than ${MAX_LAYERS} programs start each other`);
    this.#meter.step(words.length);
    const [program = "", ...args] = words;
    const name = nameOf(program);
    this.#record(program, args, start);
    if (this.#callables.has(program)) this.#call(program, args, start);
    const copy = program.includes("/") ? this.#copies.get(pathIn(program, start.scope.cwd)) : undefined;
    if (copy !== undefined) this.#start([copy, ...args], start, layers + 1);
    if (name === "env" || DECLARERS.has(name))
      for (const word of args) {
        const [, variable = "", value = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
        this.#commandVariable(variable, value, start);
      }
    if (name === "ln" || name === "cp" || name === "install") this.#copiedProgram(args, start.scope);
    if (name === "exec" && args.length === 0) this.#opened.push(...start.input);
    // `$SUDO rm …` runs here and `$ON_HOST rm …` elsewhere. The text does not show which of them it is.
    if (name === UNKNOWN) {
      const known = args.findIndex((word) => nameOf(word) !== UNKNOWN);
      if (known >= 0) this.#start(args.slice(known), { ...start, files: [], remote: true }, layers + 1);
    }
    if (name === "" || name === UNKNOWN) return;
    if (isGlob(name))
      for (const candidate of GLOB_CANDIDATES)
        if (matchesGlob(candidate, name)) this.#start([candidate, ...args], start, layers + 1);
    const source = parseShellArguments(name, args);
    if (source) {
      if (source.kind === "text") this.#shellText(source.text, source.positional, start);
      else if (source.kind === "input") this.#input(start, false);
      return;
    }
    const peeled = unwrapCommand(name, args);
    if (peeled?.kind === "words") {
      const words = name === "xargs" ? expandXargs(peeled.words, args, start.input) : peeled.words;
      this.#start(words, { ...start, files: [], remote: start.remote || peeled.remote }, layers + 1);
    } else if (peeled?.kind === "text") this.#text(peeled.text, start, peeled.remote);
    else if (peeled && SHELL_STARTERS.has(name)) this.#input(start, peeled.remote);
    else this.#builtin(name, args, start, layers);
  }

  #builtin(name: string, args: readonly string[], start: Start, layers: number): void {
    const { scope, certain } = start;
    if (name === "eval") this.#text(args.join(" "), start, false, scope);
    else if (name === "trap") this.#text(args.find((word) => !word.startsWith("-")) ?? "", start, false);
    else if (name === "alias")
      for (const word of args) {
        const text = word.replace(/^[^=]*=?/, "");
        this.#callables.set(word.slice(0, word.indexOf("=")), text);
        this.#text(text, start, false);
      }
    else if ((name === "source" || name === ".") && isStandardInput(args[0]))
      this.#input(start, false, scope);
    else if (name === "cd" || name === "pushd") scope.cwd = folderOf(args, scope);
    else if (name === "popd") scope.cwd = undefined;
    else if (name === "unset") for (const word of args) scope.assign(word, [""], certain);
    else if (DECLARERS.has(name)) this.#declare(args, scope, certain);
    else if (name === "hash" && args[0] === "-p") this.#callables.set(args[2] ?? "", args[1] ?? "");
    else if (name === "set") setPositional(args, scope);
    else if (name === "shift") shiftPositional(args, scope);
    else if (name === "read") this.#read(args, start);
    else if (name === "mapfile" || name === "readarray") this.#readLines(args, start);
    else if (name === "printf" && args[0] === "-v")
      this.#set(args[1] ?? "", [evaluateOutput("printf", args.slice(2), undefined) ?? UNKNOWN], start);
    else if (name === "find") this.#find(args, start, layers);
  }

  #declare(args: readonly string[], scope: Scope, certain: boolean): void {
    const isReference = args.some((word) => /^-[a-zA-Z]*n/.test(word));
    for (const [at, word] of args.entries()) {
      const [, name, value = ""] = /^([A-Za-z_]\w*)\+?=(.*)$/s.exec(word) ?? [];
      if (name === undefined) continue;
      // The elements of `declare a=(b c)` are the next arguments.
      const next = args.findIndex((other, index) => index > at && /^[A-Za-z_]\w*\+?=/.test(other));
      const elements = value === "" ? args.slice(at + 1, next < 0 ? undefined : next) : [];
      const values = elements.length > 0 ? elements : [value];
      this.#store(name, isReference ? (scope.valuesOf(value) ?? [UNKNOWN]) : values, scope, certain);
    }
  }

  #set(name: string, values: readonly string[], { scope, certain }: Start): void {
    this.#store(name, values, scope, certain);
  }

  /** Sets the variables of `read`. Each may have the corresponding field of any line of the known input. */
  #read(args: readonly string[], start: Start): void {
    const text = start.input.at(-1);
    const array = args.findIndex((word) => /^-[a-zA-Z]*a$/.test(word));
    const names = args.filter(
      (word, at) => /^[A-Za-z_]\w*$/.test(word) && !/^-[a-zA-Z]*[adnNptui]$/.test(args[at - 1] ?? ""),
    );
    const separator = separatorOf(start.scope);
    const lines = (text ?? UNKNOWN).split("\n").filter((line) => line !== "");
    if (array >= 0) {
      this.#set(args[array + 1] ?? "", lines[0]?.split(separator) ?? [UNKNOWN], start);
      return;
    }
    for (const [at, name] of (names.length > 0 ? names : ["REPLY"]).entries()) {
      const isLast = at >= names.length - 1;
      const values = lines.map((line) => {
        const fields = line.split(separator);
        return (isLast && at === 0 ? line : isLast ? fields.slice(at).join(" ") : fields[at]) ?? "";
      });
      this.#meter.step(lines.length);
      this.#set(name, text === undefined ? [UNKNOWN] : values, start);
    }
  }

  #readLines(args: readonly string[], start: Start): void {
    const name = args.findLast(
      (word, at) => /^[A-Za-z_]\w*$/.test(word) && !/^-[dnOsuCc]$/.test(args[at - 1] ?? ""),
    );
    const lines = start.input.at(-1)?.split("\n");
    this.#set(name ?? "MAPFILE", lines?.filter((line) => line !== "") ?? [UNKNOWN], start);
  }

  #find(args: readonly string[], start: Start, layers: number): void {
    const expression = parseFindArguments(args);
    const { commands, picks } = expression;
    const found = foundBy(expression);
    for (const command of commands) {
      const words = command.flatMap((word) => (word === "{}" ? found : [word]));
      // `find` runs the command for every file below the roots, so plain `rm` removes as much as `rm -r`.
      if (nameOf(words[0] ?? "") === "rm" && !picks) words.push("-r");
      this.#start(words, { ...start, files: [], input: [] }, layers + 1);
    }
  }

  /** Reads the body of a function or alias with the arguments of a call. Recursion and frequent calls are not followed. */
  #call(name: string, args: readonly string[], start: Start): void {
    const body = this.#callables.get(name);
    if (body === undefined || this.#called.has(name)) return;
    if (this.#calls >= MAX_CALLS || this.#callSteps > MAX_CALL_STEPS) return;
    this.#calls += 1;
    const before = this.#meter.steps;
    this.#called.add(name);
    const scope = new Scope(start.scope);
    if (typeof body === "string")
      this.#text(
        [body, ...args.map((word) => `'${word.replaceAll("'", "'\\''")}'`)].join(" "),
        start,
        false,
        scope,
      );
    else {
      assignPositional(scope, [name, ...args]);
      for (const part of body.parts) this.script(part, scope, undefined, false, start.upstream);
    }
    this.#called.delete(name);
    this.#callSteps += this.#meter.steps - before;
  }

  #shellText(text: string, positional: readonly string[], start: Start): void {
    const scope = new Scope(start.scope);
    assignPositional(scope, positional);
    this.#text(text, start, false, scope);
  }

  /** Reads every known text that a shell without a script argument could run. */
  #input(start: Start, remote: boolean, scope = new Scope(start.scope)): void {
    const texts = start.input.length > 0 ? start.input : this.#opened.slice(-MAX_OPENED);
    for (const text of texts) this.#text(text, { ...start, input: [] }, remote, scope);
  }

  /** Reads a text that another shell runs. A remote shell may have other quoting rules, so its errors are ignored. */
  #text(text: string, start: Start, remote: boolean, scope = new Scope(start.scope)): void {
    const from = this.invocations.length;
    const { script, malformed } = parseShell(text, this.#meter);
    this.script(script, scope, undefined, start.certain, start.upstream);
    if (!remote && !start.remote) {
      this.malformed ??= malformed;
      return;
    }
    const inside = this.invocations.splice(from);
    this.#meter.step(inside.length);
    for (const invocation of inside) this.invocations.push({ ...invocation, remote: true });
  }

  #record(program: string, args: readonly string[], start: Start): void {
    const { files, scope, input, upstream, remote, isCut, naming } = start;
    if (program === "" && args.length === 0 && files.length === 0) return;
    const plain = args.map(normalizeWord);
    this.invocations.push({
      name: nameOf(program),
      naming: isUndetermined(program) ? naming : "text",
      program,
      args: plain,
      texts: args,
      files,
      cwd: scope.cwd,
      input,
      upstream,
      remote,
      isCut,
    });
  }
}

/** Sets all positional parameters, because a new shell must not see those of the outer shell. */
function assignPositional(scope: Scope, positional: readonly string[]): void {
  for (let index = 0; index < 10; index += 1) scope.assign(String(index), [positional[index] ?? ""], true);
  const all = positional.length > 1 ? positional.slice(1) : [""];
  for (const name of ["@", "*"]) scope.assign(name, all, true);
}

/** Follows `set -- a b` and `set a b`. Options alone keep the positional parameters. */
function setPositional(args: readonly string[], scope: Scope): void {
  const at = args.findIndex((word) => word === "--" || !/^[-+]/.test(word));
  if (at < 0 || /^[-+]o$/.test(args[at - 1] ?? "")) return;
  assignPositional(scope, ["", ...args.slice(args[at] === "--" ? at + 1 : at)]);
}

function shiftPositional(args: readonly string[], scope: Scope): void {
  const all = scope.valuesOf("@");
  if (all) assignPositional(scope, ["", ...all.slice(Number(args[0] ?? 1) || 1)]);
}

function pathIn(path: string, cwd: string | undefined): string {
  return path.startsWith("/") ? path : `${cwd ?? ""}/${path.replace(/^(?:\.\/)+/, "")}`;
}

function isGlob(name: string): boolean {
  return /[*?]|\[.+\]/.test(name) && name.length <= MAX_GLOB_LENGTH;
}

/** Whether part of a program's name, apart from its folder, is unknown or a pattern. */
function isUndetermined(program: string): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return name.includes(UNKNOWN) || isGlob(name);
}

/** Where the name of a program comes from, if its value is unknown. */
function namingOf(word: Word, scope: Scope): Naming {
  let naming: Naming = word.length > 1 ? "pattern" : "environment";
  for (const piece of word) {
    if (piece.kind === "text") {
      if (piece.text !== "") naming = "pattern";
    } else if (piece.kind === "variable" || piece.kind === "parameter") {
      const values = scope.valuesOf(piece.name);
      if (values !== undefined) return "computed";
      if (word.every(({ kind }) => kind !== "text" || piece.quoted)) naming = "environment";
    } else if (word.every((other) => other === piece || (other.kind === "text" && other.text === "")))
      return "computed";
  }
  return naming;
}

/** The target of `cd` or `pushd`, if it can be determined from the text. */
function folderOf(args: readonly string[], scope: Scope): string | undefined {
  const target = args.find((word) => !/^-[LPe@]+$|^--$/.test(word)) ?? scope.valuesOf("HOME")?.[0];
  if (target === undefined || target === "-" || target.startsWith(UNKNOWN) || /^\+\d/.test(target))
    return undefined;
  const path = target.startsWith("/") ? target : scope.cwd && `${scope.cwd}/${target}`;
  return path && path.length <= MAX_VALUE_LENGTH ? path : undefined;
}
