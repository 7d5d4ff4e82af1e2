import { Cursor, Malformed } from "./cursor.ts";
import { HereDocuments } from "./here-documents.ts";
import type { Meter } from "./meter.ts";
import {
  type Assignment,
  type Command,
  type CompoundCommand,
  literalText,
  type Pipeline,
  type Redirection,
  type Script,
  type Word,
} from "./syntax.ts";
import { type ScriptReading, WordReader } from "./word-reader.ts";

export interface ShellReading {
  /** What could be read; all of it unless `malformed` says otherwise. */
  readonly script: Script;
  /** Which quote or substitution is not closed. */
  readonly malformed: string | undefined;
}

const NOTHING: ReadonlySet<string> = new Set();
const BARE_WORD = /(?:[a-z]{1,9}|[{}!]|\[\[)(?=[\s;&|()<>]|$)/y;
const ASSIGNMENT = /[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]\n]{0,200}\])?\+?=/y;
const REDIRECTION =
  /(?:[0-9]{1,9}|\{[A-Za-z_][A-Za-z0-9_]{0,60}\})?(?:<<<|<<-|<<|<&|<>|<|>>|>&|>\||>)|&>>|&>/y;
const STRAY = new Set(["then", "elif", "else", "fi", "do", "done", "esac", "}"]);

/**
 * Reads POSIX and bash command text into commands without running or expanding anything. Each character is read once
 * for each level of backquotes it is in. It never refuses what a shell takes: where the grammar is broken it reads on,
 * because finding one command position too many is safe and one too few is not. Throws only {@link LimitReached}.
 */
export function readShell(text: string, meter: Meter): ShellReading {
  const script: Script = { pipelines: [] };
  try {
    new CommandReader(new Cursor(text, meter)).readAll(script);
    return { script, malformed: undefined };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { script, malformed: error.message };
  }
}

class CommandReader {
  readonly #cursor: Cursor;
  readonly #words: WordReader;
  readonly #documents: HereDocuments;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
    const scripts: ScriptReading = {
      toParenthesis: (inside) =>
        inside === cursor ? this.#readToParenthesis() : new CommandReader(inside).#readToParenthesis(),
      ofText: (text) => this.#readText(text),
    };
    this.#words = new WordReader(cursor, scripts);
    this.#documents = new HereDocuments(cursor, scripts);
  }

  readAll(script: Script): void {
    while (!this.#cursor.done) {
      this.#readInto(script, NOTHING);
      // Only a closing parenthesis or `;;` that nothing opened can stop it here.
      if (!this.#cursor.done) this.#cursor.skip(1);
    }
  }

  #readText(text: string): Script {
    const { meter } = this.#cursor;
    return meter.within(() => {
      const script: Script = { pipelines: [] };
      new CommandReader(new Cursor(text, meter)).readAll(script);
      return script;
    });
  }

  #readToParenthesis(): Script {
    const script = this.#readScript(NOTHING);
    if (this.#cursor.peek() !== ")") throw new Malformed("a $( ) or <( ) is not closed");
    this.#cursor.skip(1);
    return script;
  }

  #readScript(closers: ReadonlySet<string>): Script {
    const script: Script = { pipelines: [] };
    this.#cursor.meter.within(() => this.#readInto(script, closers));
    return script;
  }

  /** Reads pipelines until the end, a `)`, a `;;`, or one of the closing words, none of which it takes. */
  #readInto(script: Script, closers: ReadonlySet<string>): void {
    const cursor = this.#cursor;
    const { pipelines } = script;
    let listStart = pipelines.length;
    let conditional = false;
    while (true) {
      this.#skipLines();
      if (cursor.done || cursor.peek() === ")" || cursor.startsWith(";;") || cursor.startsWith(";&")) return;
      const bare = this.#bareWord();
      if (closers.has(bare)) return;
      const from = cursor.at;
      if (STRAY.has(bare)) cursor.skip(bare.length);
      else pipelines.push(this.#readPipeline(conditional));
      conditional = false;
      this.#skipBlanks();
      if (cursor.startsWith("&&") || cursor.startsWith("||")) {
        cursor.skip(2);
        conditional = true;
        continue;
      }
      const end = cursor.peek();
      if (end === "&") for (const pipeline of pipelines.slice(listStart)) pipeline.background = true;
      if (end === "&" || (end === ";" && !/[;&]/.test(cursor.peek(1)))) cursor.skip(1);
      else if (cursor.at === from && !cursor.done && !");".includes(end)) cursor.skip(1);
      if (end === "&" || end === ";" || end === "\n") listStart = pipelines.length;
    }
  }

  #readPipeline(conditional: boolean): Pipeline {
    const stages: Command[] = [];
    while (true) {
      this.#skipNegations();
      stages.push(this.#readCommand());
      this.#skipBlanks();
      if (this.#cursor.peek() !== "|" || this.#cursor.peek(1) === "|") break;
      this.#cursor.skip(this.#cursor.peek(1) === "&" ? 2 : 1);
      this.#skipLines();
      if (this.#cursor.done) break;
    }
    return { stages, background: false, conditional };
  }

  #skipNegations(): void {
    while (true) {
      const bare = this.#bareWord();
      if (bare === "!" || bare === "time" || bare === "coproc") this.#cursor.skip(bare.length);
      else return;
      this.#skipBlanks();
      if (bare === "time") this.#cursor.match(/-p(?=\s)\s*/y);
    }
  }

  #readCommand(): Command {
    const cursor = this.#cursor;
    if (cursor.peek() === "(") {
      if (this.#words.isArithmetic()) return this.#readArithmetic();
      cursor.skip(1);
      const script = this.#readScript(NOTHING);
      if (cursor.peek() === ")") cursor.skip(1);
      return this.#compound("subshell", "", [], [script]);
    }
    const bare = this.#bareWord();
    switch (bare) {
      case "{":
        cursor.skip(1);
        return this.#compound("group", "", [], this.#readParts(["}"]));
      case "if":
        cursor.skip(bare.length);
        return this.#compound("branch", "", [], this.#readParts(["then", "elif", "else", "fi"]));
      case "while":
      case "until":
        cursor.skip(bare.length);
        return this.#compound("loop", "", [], this.#readParts(["do", "done"]));
      case "for":
      case "select":
        cursor.skip(bare.length);
        return this.#readFor();
      case "case":
        cursor.skip(bare.length);
        return this.#readCase();
      case "function":
        cursor.skip(bare.length);
        this.#skipBlanks();
        return this.#readFunction(literalText(this.#words.read()) ?? "");
      case "[[":
        cursor.skip(bare.length);
        return this.#readTest();
      default:
        return this.#readSimple();
    }
  }

  /** The scripts between the words of a construct; the last of `closers` ends it and is taken. */
  #readParts(closers: readonly string[]): Script[] {
    const cursor = this.#cursor;
    const set = new Set(closers);
    const parts: Script[] = [];
    while (true) {
      parts.push(this.#readScript(set));
      const bare = this.#bareWord();
      if (!set.has(bare)) return parts;
      cursor.skip(bare.length);
      if (bare === closers.at(-1)) return parts;
    }
  }

  #readArithmetic(): CompoundCommand {
    const cursor = this.#cursor;
    cursor.skip(2);
    const from = cursor.at;
    const inner = cursor.meter.within(() => this.#words.readArithmetic());
    // Plain POSIX shells know no arithmetic command and run the inside as commands of two subshells.
    const commands = this.#readText(cursor.text.slice(from, cursor.at - 2));
    return this.#compound("test", "", [inner], [commands]);
  }

  #readFor(): CompoundCommand {
    const cursor = this.#cursor;
    this.#skipBlanks();
    const words: Word[] = [];
    let name = "";
    if (cursor.startsWith("((")) {
      cursor.skip(2);
      words.push(cursor.meter.within(() => this.#words.readArithmetic()));
    } else {
      name = literalText(this.#words.read()) ?? "";
      this.#skipLines();
      if (this.#bareWord() === "in") {
        cursor.skip(2);
        for (const word of this.#readWords()) words.push(word);
      }
    }
    this.#skipBlanks();
    if (cursor.peek() === ";") cursor.skip(1);
    this.#skipLines();
    if (this.#bareWord() === "{") {
      cursor.skip(1);
      return this.#compound("loop", name, words, this.#readParts(["}"]));
    }
    return this.#compound("loop", name, words, this.#readParts(["do", "done"]));
  }

  #readCase(): CompoundCommand {
    const cursor = this.#cursor;
    this.#skipBlanks();
    const words: Word[] = [this.#words.read()];
    const parts: Script[] = [];
    this.#skipLines();
    if (this.#bareWord() === "in") cursor.skip(2);
    while (true) {
      this.#skipLines();
      if (cursor.done) break;
      if (this.#bareWord() === "esac") {
        cursor.skip(4);
        break;
      }
      if (cursor.peek() === "(") cursor.skip(1);
      while (!cursor.done && cursor.peek() !== ")" && cursor.peek() !== "\n") {
        const word = this.#words.read();
        if (word.length > 0) words.push(word);
        else cursor.skip(1);
      }
      if (!cursor.done) cursor.skip(1);
      parts.push(this.#readScript(new Set(["esac"])));
      if (cursor.match(/;;&|;;|;&/y) === "" && this.#bareWord() !== "esac") break;
    }
    return this.#compound("branch", "", words, parts);
  }

  #readFunction(name: string): CompoundCommand {
    this.#skipBlanks();
    this.#cursor.match(/\([ \t]*\)/y);
    this.#skipLines();
    const body = this.#cursor.meter.within(() => this.#readBody());
    const pipeline: Pipeline = { stages: [body], background: false, conditional: false };
    return this.#compound("function", name, [], [{ pipelines: [pipeline] }]);
  }

  /** A function's body. `{` needs no blank behind it here: shells differ, and nothing else could be meant. */
  #readBody(): Command {
    if (this.#cursor.peek() !== "{") return this.#readCommand();
    this.#cursor.skip(1);
    return this.#compound("group", "", [], this.#readParts(["}"]));
  }

  #readTest(): CompoundCommand {
    const cursor = this.#cursor;
    const words: Word[] = [];
    while (!cursor.done) {
      cursor.match(/\s+/y);
      if (cursor.startsWith("]]")) {
        cursor.skip(2);
        break;
      }
      const word = this.#words.read();
      if (word.length > 0) words.push(word);
      else if (!cursor.done) cursor.skip(1);
    }
    return this.#compound("test", "", words, []);
  }

  #compound(
    type: CompoundCommand["type"],
    name: string,
    words: readonly Word[],
    parts: readonly Script[],
  ): CompoundCommand {
    const redirections: Redirection[] = [];
    do this.#skipBlanks();
    while (this.#readRedirection(redirections));
    return { kind: "compound", type, name, words, parts, redirections };
  }

  #readSimple(): Command {
    const cursor = this.#cursor;
    const assignments: Assignment[] = [];
    const words: Word[] = [];
    const redirections: Redirection[] = [];
    while (true) {
      this.#skipBlanks();
      if (this.#readRedirection(redirections)) continue;
      if (words.length === 0 && this.#readAssignment(assignments)) continue;
      const word = this.#words.read();
      if (word.length === 0) break;
      words.push(word);
      if (cursor.peek() === "(" && /=$/.test(literalText(word)?.slice(-1) ?? "")) {
        for (const element of this.#readArray()) words.push(element);
        continue;
      }
      if (words.length > 1 || assignments.length > 0 || redirections.length > 0) continue;
      this.#skipBlanks();
      if (cursor.match(/\([ \t]*\)/y) !== "") return this.#readFunction(literalText(word) ?? "");
    }
    return { kind: "simple", assignments, words, redirections };
  }

  #readAssignment(assignments: Assignment[]): boolean {
    const head = this.#cursor.match(ASSIGNMENT);
    if (head === "") return false;
    const values = this.#cursor.peek() === "(" ? this.#readArray() : [this.#words.read()];
    assignments.push({ name: head.replace(/[[+=].*$/s, ""), appends: head.endsWith("+="), values });
    return true;
  }

  #readArray(): Word[] {
    const cursor = this.#cursor;
    const words: Word[] = [];
    cursor.skip(1);
    while (true) {
      this.#skipLines();
      for (const word of this.#readWords()) words.push(word);
      if (cursor.done) return words;
      if (cursor.peek() === "\n") continue;
      const end = cursor.take();
      if (end === ")") return words;
    }
  }

  #readWords(): Word[] {
    const words: Word[] = [];
    while (true) {
      this.#skipBlanks();
      const word = this.#words.read();
      if (word.length === 0) return words;
      words.push(word);
    }
  }

  #readRedirection(redirections: Redirection[]): boolean {
    const cursor = this.#cursor;
    if (/[<>]/.test(cursor.peek()) && cursor.peek(1) === "(") return false;
    const found = cursor.match(REDIRECTION);
    if (found === "") return false;
    const operator = found.replace(/^[^<>&]+/, "");
    this.#skipBlanks();
    const redirection: Redirection = { operator, target: this.#words.read() };
    redirections.push(redirection);
    if (operator === "<<" || operator === "<<-") this.#documents.expect(redirection);
    return true;
  }

  /** A whole unquoted word of letters that may be reserved, without taking it. */
  #bareWord(): string {
    BARE_WORD.lastIndex = this.#cursor.at;
    this.#cursor.meter.step();
    return BARE_WORD.exec(this.#cursor.text)?.[0] ?? "";
  }

  /** Passes blanks, continued lines and a comment. */
  #skipBlanks(): void {
    const cursor = this.#cursor;
    while (cursor.match(/[ \t]+|\\\n/y) !== "");
    if (cursor.peek() === "#" && (cursor.at === 0 || /[\s;&|()]/.test(cursor.text[cursor.at - 1] ?? "")))
      cursor.match(/[^\n]+/y);
  }

  /** Passes line ends too; here-documents begin behind them. */
  #skipLines(): void {
    while (true) {
      this.#skipBlanks();
      if (this.#cursor.peek() !== "\n") return;
      this.#cursor.skip(1);
      this.#documents.readPending();
    }
  }
}
