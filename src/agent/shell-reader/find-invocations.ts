import { type Expander, expandWord } from "./expand-word.ts";
import { readFind } from "./find-expression.ts";
import { LimitReached, type Meter } from "./meter.ts";
import { plainText } from "./plain-text.ts";
import { printedText } from "./printed-text.ts";
import { readShell } from "./read-shell.ts";
import { Scope, UNKNOWN } from "./scope.ts";
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

export interface OpenedFile {
  /** `<`, `>`, `>>`, `>|`, `<>`, `>&`, `&>`, … */
  readonly operator: string;
  readonly path: string;
}

/** One start of a program that a text would cause, with what is known of its words. */
export interface Invocation {
  /** The program's name without its folder, in small letters; empty when there are only redirections. */
  readonly name: string;
  /** The program as written. */
  readonly program: string;
  readonly args: readonly string[];
  readonly files: readonly OpenedFile[];
  /** Where it runs, or undefined when the text does not tell. */
  readonly cwd: string | undefined;
  /** Runs on another machine, or behind a program whose name is not known. */
  readonly remote: boolean;
  /** Some of its words are too many to list. */
  readonly isCut: boolean;
}

export interface ScriptFindings {
  readonly invocations: readonly Invocation[];
  readonly functions: readonly CompoundCommand[];
  /** Which quote is not closed, in the text itself or in one that a further shell on this machine gets. */
  readonly malformed: string | undefined;
}

export interface ShellFacts {
  readonly home: string | undefined;
}

const SHELLS = new Set([
  "sh",
  "bash",
  "dash",
  "zsh",
  "ksh",
  "ksh93",
  "mksh",
  "ash",
  "rbash",
  "fish",
  "csh",
  "tcsh",
]);
const DECLARERS = new Set(["export", "declare", "typeset", "local", "readonly"]);
const MAX_LAYERS = 24;
/** Stands for the home while nobody knows its path. */
export const UNNAMED_HOME = `/home/${UNKNOWN}`;

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
  walk.script(script, scope, undefined);
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
  readonly certain: boolean;
}

class Walk {
  readonly invocations: Invocation[] = [];
  readonly functions: CompoundCommand[] = [];
  malformed: string | undefined;
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  script(script: Script, scope: Scope, input: string | undefined, certain = true): void {
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
      if (stages.length > 1) text = this.#printedByCommand(stage, scope, text);
    }
  }

  #command(command: Command, scope: Scope, input: string | undefined, certain: boolean): void {
    if (command.kind === "simple") this.#simple(command, scope, input, certain);
    else this.#compound(command, scope, input);
  }

  #compound(command: CompoundCommand, scope: Scope, input: string | undefined): void {
    const { type, name, words, parts, redirections } = command;
    const files = this.#redirections(redirections, scope);
    this.#insideWords(words, scope);
    if (files.length > 0) this.#record("", [], this.#startOf(scope, { files }));
    if (type === "function") this.functions.push(command);
    if (type === "loop" && name !== "") scope.assign(name, this.#expandAll(words, scope).fields, false);
    const own = type === "subshell" || type === "function" ? new Scope(scope) : scope;
    const text = this.#inputOf(redirections, scope) ?? input;
    for (const part of parts) this.script(part, own, text, type === "group" || type === "subshell");
  }

  #simple(command: SimpleCommand, scope: Scope, input: string | undefined, certain: boolean): void {
    const { words, assignments, redirections } = command;
    this.#insideWords([...assignments.flatMap((assignment) => assignment.values), ...words], scope);
    const files = this.#redirections(redirections, scope);
    const { fields, isCut } = this.#expandAll(words, scope);
    if (words.length === 0) for (const assignment of assignments) this.#assign(assignment, scope, certain);
    const texts = [
      this.#inputOf(redirections, scope) ?? input,
      ...this.#processTexts(words, redirections, scope),
    ];
    const known = texts.filter((text) => text !== undefined);
    this.#start(fields, this.#startOf(scope, { files, input: known, isCut, certain }), 0);
  }

  #startOf(scope: Scope, known: Partial<Start>): Start {
    return { scope, files: [], input: [], remote: false, isCut: false, certain: true, ...known };
  }

  #assign({ name, appends, values }: Assignment, scope: Scope, certain: boolean): void {
    const { fields } = this.#expandAll(values, scope);
    // A single word is not split in an assignment.
    const value = values.length === 1 ? [fields.join(" ")] : fields;
    const earlier = appends ? (scope.valuesOf(name) ?? [UNKNOWN]) : [""];
    scope.assign(
      name,
      earlier.flatMap((head) => value.map((tail) => head + tail)),
      certain,
    );
  }

  /** Walks the commands inside words. */
  #insideWords(words: readonly Word[], scope: Scope): void {
    for (const word of words)
      for (const piece of word) {
        this.#meter.step();
        if (piece.kind === "substitution" || piece.kind === "process")
          this.script(piece.script, new Scope(scope), undefined);
        else if (piece.kind === "variable") this.#insideWords([piece.operand], scope);
        else if (piece.kind === "unknown") this.#insideWords([piece.inner], scope);
      }
  }

  #redirections(redirections: readonly Redirection[], scope: Scope): OpenedFile[] {
    this.#insideWords(
      redirections.map((redirection) => redirection.target),
      scope,
    );
    return redirections
      .filter(({ operator }) => !operator.startsWith("<<"))
      .flatMap(({ operator, target }) =>
        this.#expandAll([target], scope).fields.map((path) => ({ operator, path: plainText(path) })),
      );
  }

  /** The text of the last here-document or here-string. */
  #inputOf(redirections: readonly Redirection[], scope: Scope): string | undefined {
    const last = redirections.findLast(({ operator }) => operator.startsWith("<<"));
    return last && this.#expandAll([last.target], scope).fields.join(" ");
  }

  #processTexts(
    words: readonly Word[],
    redirections: readonly Redirection[],
    scope: Scope,
  ): (string | undefined)[] {
    const pieces = [...words, ...redirections.map(({ target }) => target)].flat();
    return pieces.map((piece) =>
      piece.kind === "process" ? this.#printedBy(piece.script, scope) : undefined,
    );
  }

  #expandAll(words: readonly Word[], scope: Scope): { fields: string[]; isCut: boolean } {
    const expander: Expander = {
      scope,
      meter: this.#meter,
      printedBy: (script) => this.#printedBy(script, scope),
    };
    const fields: string[] = [];
    let isCut = false;
    for (const word of words) {
      const expansion = expandWord(word, expander);
      for (const field of expansion.fields) fields.push(field);
      isCut ||= expansion.isCut;
    }
    this.#meter.step(fields.length);
    return { fields, isCut };
  }

  /** What a script prints, as far as the text tells; undefined when nothing of it is known. */
  #printedBy(script: Script, scope: Scope): string | undefined {
    const texts: string[] = [];
    for (const { stages } of script.pipelines) {
      let text: string | undefined;
      for (const stage of stages) text = this.#printedByCommand(stage, scope, text);
      if (text !== undefined) texts.push(text);
    }
    return texts.length > 0 ? texts.join("") : undefined;
  }

  #printedByCommand(command: Command, scope: Scope, input: string | undefined): string | undefined {
    return this.#meter.within(() => {
      const text = this.#inputOf(command.redirections, scope) ?? input;
      if (command.kind === "compound") {
        if (command.type === "function") return undefined;
        const texts = command.parts
          .map((part) => this.#printedBy(part, scope))
          .filter((part) => part !== undefined);
        return texts.length > 0 ? texts.join("") : undefined;
      }
      const [name, ...args] = this.#expandAll(command.words, scope).fields;
      if (name === "pwd") return scope.cwd;
      if (name === "whoami" || (name === "id" && args[0] === "-un")) return scope.valuesOf("USER")?.[0];
      return name === undefined ? undefined : printedText(nameOf(name), args, text);
    });
  }

  /** Starts a program with its words, and whatever that program starts in turn. */
  #start(words: readonly string[], start: Start, layers: number): void {
    if (layers > MAX_LAYERS) throw new LimitReached(`more than ${MAX_LAYERS} programs start each other`);
    this.#meter.step(words.length);
    const [program = "", ...args] = words;
    const name = nameOf(program);
    this.#record(program, args, start);
    if (name === "") return;
    if (name === UNKNOWN) {
      // `$SUDO rm …`, but also `$ON_HOST rm …`: nobody knows where it runs.
      this.#start(args, { ...start, remote: true }, layers + 1);
      return;
    }
    const peeled = peelWrapper(name, args);
    if (peeled?.kind === "words") {
      const words = name === "xargs" ? withInput(peeled.words, args, start.input) : peeled.words;
      this.#start(words, { ...start, remote: start.remote || peeled.remote, files: [] }, layers + 1);
    } else if (peeled?.kind === "text") this.#text(peeled.text, start, peeled.remote);
    else if (peeled && ["ssh", "sudo", "su", "doas"].includes(name)) this.#texts(start, peeled.remote);
    else if (SHELLS.has(name)) this.#shell(args, start);
    else this.#builtin(name, args, start, layers);
  }

  #builtin(name: string, args: readonly string[], start: Start, layers: number): void {
    const { scope, certain } = start;
    if (name === "eval") this.#text(args.join(" "), start, false, scope);
    else if (name === "trap") this.#text(args.find((word) => !word.startsWith("-")) ?? "", start, false);
    else if (name === "alias")
      for (const word of args) this.#text(word.replace(/^[^=]*=?/, ""), start, false);
    else if (name === "source" || name === ".") {
      if (readsInput(args[0])) this.#texts(start, false);
    } else if (name === "cd" || name === "pushd") scope.cwd = this.#folder(args, scope);
    else if (name === "popd") scope.cwd = undefined;
    else if (name === "unset") for (const word of args) scope.assign(word, [""], certain);
    else if (DECLARERS.has(name)) {
      for (const word of args) {
        const [, variable, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
        if (variable !== undefined) scope.assign(variable, [value ?? ""], certain);
      }
    } else if (name === "find") {
      const { commands, picks, roots } = readFind(args);
      for (const command of commands) {
        const found = picks ? [UNKNOWN] : roots;
        const words = command.flatMap((word) => (word === "{}" ? found : [word]));
        // It is called for everything below the roots, so a plain `rm` is as thorough as a recursive one.
        if (nameOf(words[0] ?? "") === "rm" && !picks) words.push("-r");
        this.#start(words, { ...start, files: [], input: [] }, layers + 1);
      }
    }
  }

  #folder(args: readonly string[], scope: Scope): string | undefined {
    const target = args.filter((word) => !/^-[LPe@]+$|^--$/.test(word))[0] ?? scope.valuesOf("HOME")?.[0];
    if (target === undefined || target === "-" || target.startsWith(UNKNOWN) || /^\+\d/.test(target))
      return undefined;
    if (target.startsWith("/")) return target;
    return scope.cwd === undefined ? undefined : `${scope.cwd}/${target}`;
  }

  #shell(args: readonly string[], start: Start): void {
    let isText = false;
    for (let at = 0; at < args.length; at += 1) {
      const word = args[at] ?? "";
      if (isText && word === "--") continue;
      if (word === "--" || word === "-" || !/^[-+]/.test(word)) {
        if (isText) this.#commandText(args.slice(at), start);
        else if (readsInput(word)) this.#texts(start, false);
        return;
      }
      isText ||= /^-[a-zA-Z]*c[a-zA-Z]*$/.test(word);
      if (/^[-+][a-zA-Z]*[oO]$|^--(?:rcfile|init-file)$/.test(word)) at += 1;
    }
    this.#texts(start, false);
  }

  #commandText([text = "", ...positional]: readonly string[], start: Start): void {
    const scope = new Scope(start.scope);
    for (const [index, value] of positional.slice(0, 10).entries())
      scope.assign(String(index), [value], true);
    for (const name of ["@", "*"]) scope.assign(name, positional.slice(1, 17), true);
    this.#text(text, start, false, scope);
  }

  /** Every known text that a shell without a script could read. */
  #texts(start: Start, remote: boolean): void {
    for (const text of start.input) this.#text(text, { ...start, input: [] }, remote);
  }

  /** A text that a further shell runs. On another machine it need not be a shell of our kind, so quotes may differ. */
  #text(text: string, start: Start, remote: boolean, scope = new Scope(start.scope)): void {
    const outer = this.invocations.length;
    this.#meter.within(() =>
      this.script(readShell(text, this.#meter).script, scope, undefined, start.certain),
    );
    if (!remote && !start.remote) return;
    for (let at = outer; at < this.invocations.length; at += 1) {
      const invocation = this.invocations[at];
      if (invocation) this.invocations[at] = { ...invocation, remote: true };
    }
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

/** What is unknown in a name may be empty, as in `r$@m`; a name of nothing else stays UNKNOWN. */
function nameOf(program: string): string {
  const name = (plainText(program).split("/").at(-1) ?? "").toLowerCase();
  return name.replaceAll(UNKNOWN, "") || name.slice(0, 1);
}

function readsInput(operand: string | undefined): boolean {
  return (
    operand === "-" || operand === "--" || operand === "/dev/stdin" || operand?.startsWith(UNKNOWN) === true
  );
}

/** The command that `xargs` builds when its input is known. */
function withInput(
  command: readonly string[],
  args: readonly string[],
  input: readonly string[],
): readonly string[] {
  const items = input
    .join("\n")
    .split(/[\s\0]+/)
    .filter((item) => item !== "");
  const option = args.findIndex((word) => /^-[Ii]|^--replace/.test(word));
  if (option < 0) return [...command, ...items];
  const word = args[option] ?? "";
  const mark = word === "-I" ? args[option + 1] : word.replace(/^-[Ii]|^--replace=?/, "") || "{}";
  return command.flatMap((part) => (mark && part === mark && items.length > 0 ? items : [part]));
}
