import { readFind } from "./find-expression.ts";
import { type Invocation, nameOf, type OpenedFile } from "./invocation.ts";
import { KnownTexts } from "./known-texts.ts";
import { LimitReached, type Meter } from "./meter.ts";
import { plainText } from "./plain-text.ts";
import { readShell } from "./read-shell.ts";
import { MAX_VALUE_LENGTH, Scope, UNKNOWN, UNNAMED_HOME } from "./scope.ts";
import { readShellArguments, readsInput } from "./shell-arguments.ts";
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
import { peelWrapper } from "./wrappers.ts";
import { xargsWords } from "./xargs-words.ts";

export interface ScriptFindings {
  readonly invocations: readonly Invocation[];
  readonly functions: readonly CompoundCommand[];
  /** Which quote is not closed, in the text itself or in one that a further shell on this machine gets. */
  readonly malformed: string | undefined;
}

export interface ShellFacts {
  readonly home: string | undefined;
}

const DECLARERS = new Set(["export", "declare", "typeset", "local", "readonly"]);
const SHELL_STARTERS = new Set(["ssh", "sudo", "su", "doas"]);
const MAX_LAYERS = 24;

/**
 * Finds every place where a text would start a program: through separators, substitutions, compound commands,
 * wrappers, `sh -c`, `eval`, here-documents for a shell, `find -exec` and the like. Throws only {@link LimitReached}.
 */
export function findInvocations(text: string, facts: ShellFacts, meter: Meter): ScriptFindings {
  const walk = new Walk(meter);
  const scope = new Scope();
  const home = facts.home ?? UNNAMED_HOME;
  scope.assign("HOME", [home], true);
  scope.assign("IFS", [" "], true);
  for (const name of ["USER", "LOGNAME"]) scope.assign(name, [home.split("/").at(-1) || UNKNOWN], true);
  const { script, malformed } = readShell(text, meter);
  walk.script(script, scope, undefined, true);
  return { invocations: walk.invocations, functions: walk.functions, malformed: malformed ?? walk.malformed };
}

/** What a program is started with, besides its words. */
interface Start {
  readonly scope: Scope;
  readonly files: readonly OpenedFile[];
  /** Known texts that it could read: its standard input, and process substitutions among its words. */
  readonly input: readonly string[];
  readonly remote: boolean;
  readonly isCut: boolean;
  /** Whether it surely runs, so that what it sets replaces what was set before. */
  readonly certain: boolean;
}

class Walk {
  readonly invocations: Invocation[] = [];
  readonly functions: CompoundCommand[] = [];
  malformed: string | undefined;
  readonly #meter: Meter;
  readonly #texts: KnownTexts;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#texts = new KnownTexts(meter);
  }

  script(script: Script, scope: Scope, input: string | undefined, certain: boolean): void {
    this.#meter.within(() => {
      for (const pipeline of script.pipelines) this.#pipeline(pipeline, scope, input, certain);
    });
  }

  #pipeline(
    { stages, background, conditional }: Pipeline,
    scope: Scope,
    input: string | undefined,
    certain: boolean,
  ): void {
    let text = input;
    for (const stage of stages) {
      const own = stages.length > 1 || background ? new Scope(scope) : scope;
      this.#command(stage, own, text, certain && !conditional);
      if (stages.length > 1) text = this.#texts.printedByCommand(stage, scope, text);
    }
  }

  #command(command: Command, scope: Scope, input: string | undefined, certain: boolean): void {
    const files = this.#openedFiles(command.redirections, scope);
    this.#insideWords(command.words, scope);
    const text = this.#texts.inputOf(command.redirections, scope) ?? input;
    if (command.kind === "simple") this.#simple(command, { scope, files, text, certain });
    else {
      if (files.length > 0)
        this.#record("", [], { scope, files, input: [], remote: false, isCut: false, certain });
      this.#compound(command, scope, text);
    }
  }

  #compound(command: CompoundCommand, scope: Scope, input: string | undefined): void {
    const { type, name, words, parts } = command;
    if (type === "function") this.functions.push(command);
    if (type === "loop" && name !== "") scope.assign(name, this.#texts.expand(words, scope).fields, false);
    const own = type === "subshell" || type === "function" ? new Scope(scope) : scope;
    for (const part of parts) this.script(part, own, input, type === "group" || type === "subshell");
  }

  #simple(
    { words, assignments, redirections }: SimpleCommand,
    {
      scope,
      files,
      text,
      certain,
    }: Pick<Start, "scope" | "files" | "certain"> & { text: string | undefined },
  ): void {
    for (const { values } of assignments) this.#insideWords(values, scope);
    const { fields, isCut } = this.#texts.expand(words, scope);
    // Before a command, assignments hold for that command only.
    const own = words.length > 0 && assignments.length > 0 ? new Scope(scope) : scope;
    for (const assignment of assignments) this.#assign(assignment, own, certain);
    const pieces = [...words, ...redirections.map(({ target }) => target)].flat();
    const input = pieces
      .map((piece) => (piece.kind === "process" ? this.#texts.printedBy(piece.script, scope) : undefined))
      .concat(text)
      .filter((known) => known !== undefined);
    this.#start(fields, { scope: own, files, input, remote: false, isCut, certain }, 0);
  }

  #assign({ name, appends, values }: Assignment, scope: Scope, certain: boolean): void {
    const { fields } = this.#texts.expand(values, scope);
    // A single word is not split in an assignment.
    const added = values.length === 1 ? [fields.join(" ")] : fields;
    const earlier = appends ? (scope.valuesOf(name) ?? [UNKNOWN]) : [""];
    scope.assign(
      name,
      earlier.flatMap((head) => added.map((tail) => head + tail)),
      certain,
    );
  }

  /** Walks the commands inside words. */
  #insideWords(words: readonly Word[], scope: Scope): void {
    for (const word of words)
      for (const piece of word) {
        this.#meter.step();
        if (piece.kind === "substitution" || piece.kind === "process")
          this.script(piece.script, new Scope(scope), undefined, true);
        else if (piece.kind === "variable") this.#insideWords([piece.operand], scope);
        else if (piece.kind === "unknown") this.#insideWords([piece.inner], scope);
      }
  }

  #openedFiles(redirections: readonly Redirection[], scope: Scope): OpenedFile[] {
    const files: OpenedFile[] = [];
    for (const { operator, target } of redirections) {
      this.#insideWords([target], scope);
      if (operator.startsWith("<<")) continue;
      for (const path of this.#texts.expand([target], scope).fields)
        files.push({ operator, path: plainText(path) });
    }
    return files;
  }

  /** Starts a program with its words, and whatever that program starts in turn. */
  #start(words: readonly string[], start: Start, layers: number): void {
    if (layers > MAX_LAYERS) throw new LimitReached(`more than ${MAX_LAYERS} programs start each other`);
    this.#meter.step(words.length);
    const [program = "", ...args] = words;
    const name = nameOf(program);
    this.#record(program, args, start);
    // `$SUDO rm …`, but also `$ON_HOST rm …`: nobody knows where it runs.
    if (name === UNKNOWN) {
      const known = args.findIndex((word) => nameOf(word) !== UNKNOWN);
      if (known >= 0) this.#start(args.slice(known), { ...start, files: [], remote: true }, layers + 1);
    }
    if (name === "" || name === UNKNOWN) return;
    const source = readShellArguments(name, args);
    if (source?.kind === "text") this.#shellText(source.text, source.positional, start);
    else if (source?.kind === "input") this.#input(start, false);
    if (source) return;
    const peeled = peelWrapper(name, args);
    if (peeled?.kind === "words") {
      const words = name === "xargs" ? xargsWords(peeled.words, args, start.input) : peeled.words;
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
      for (const word of args) this.#text(word.replace(/^[^=]*=?/, ""), start, false);
    else if ((name === "source" || name === ".") && readsInput(args[0])) this.#input(start, false, scope);
    else if (name === "cd" || name === "pushd") scope.cwd = folderOf(args, scope);
    else if (name === "popd") scope.cwd = undefined;
    else if (name === "unset") for (const word of args) scope.assign(word, [""], certain);
    else if (DECLARERS.has(name)) declare(args, scope, certain);
    else if (name === "find") this.#find(args, start, layers);
  }

  #find(args: readonly string[], start: Start, layers: number): void {
    const { commands, picks, roots } = readFind(args);
    const found = picks ? [UNKNOWN] : roots;
    for (const command of commands) {
      const words = command.flatMap((word) => (word === "{}" ? found : [word]));
      // It is called for everything below the roots, so a plain `rm` is as thorough as a recursive one.
      if (nameOf(words[0] ?? "") === "rm" && !picks) words.push("-r");
      this.#start(words, { ...start, files: [], input: [] }, layers + 1);
    }
  }

  #shellText(text: string, positional: readonly string[], start: Start): void {
    const scope = new Scope(start.scope);
    // A new shell has its own, so those of an outer one must not show through.
    for (let index = 0; index < 10; index += 1) scope.assign(String(index), [positional[index] ?? ""], true);
    const all = positional.length > 1 ? positional.slice(1) : [""];
    for (const name of ["@", "*"]) scope.assign(name, all, true);
    this.#text(text, start, false, scope);
  }

  /** Every known text that a shell without a script could read. */
  #input(start: Start, remote: boolean, scope = new Scope(start.scope)): void {
    for (const text of start.input) this.#text(text, { ...start, input: [] }, remote, scope);
  }

  /** A text that a further shell runs. On another machine it need not be a shell of our kind, so quotes may differ. */
  #text(text: string, start: Start, remote: boolean, scope = new Scope(start.scope)): void {
    const from = this.invocations.length;
    const { script, malformed } = readShell(text, this.#meter);
    this.script(script, scope, undefined, start.certain);
    if (!remote && !start.remote) {
      this.malformed ??= malformed;
      return;
    }
    const inside = this.invocations.splice(from);
    this.#meter.step(inside.length);
    for (const invocation of inside) this.invocations.push({ ...invocation, remote: true });
  }

  #record(program: string, args: readonly string[], { files, scope, remote, isCut }: Start): void {
    if (program === "" && args.length === 0 && files.length === 0) return;
    const plain = args.map(plainText);
    this.invocations.push({
      name: nameOf(program),
      program,
      args: plain,
      files,
      cwd: scope.cwd,
      remote,
      isCut,
    });
  }
}

/** Where `cd` or `pushd` leads, if the text tells. */
function folderOf(args: readonly string[], scope: Scope): string | undefined {
  const target = args.find((word) => !/^-[LPe@]+$|^--$/.test(word)) ?? scope.valuesOf("HOME")?.[0];
  if (target === undefined || target === "-" || target.startsWith(UNKNOWN) || /^\+\d/.test(target))
    return undefined;
  const path = target.startsWith("/") ? target : scope.cwd && `${scope.cwd}/${target}`;
  return path && path.length <= MAX_VALUE_LENGTH ? path : undefined;
}

function declare(args: readonly string[], scope: Scope, certain: boolean): void {
  for (const word of args) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
    if (name !== undefined) scope.assign(name, [value ?? ""], certain);
  }
}
