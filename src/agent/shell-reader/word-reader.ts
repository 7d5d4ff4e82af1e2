import { type Cursor, Malformed } from "./cursor.ts";
import { decodeAnsiC } from "./decode-ansi-c.ts";
import type { Meter } from "./meter.ts";
import type { Piece, Script, Word } from "./syntax.ts";

/** How a word's reader gets at the commands inside a word, so that words and commands need not know each other. */
export interface ScriptReading {
  /** Reads commands from a cursor up to a `)` and takes it. */
  toParenthesis(cursor: Cursor): Script;
  /** Reads commands from a text of their own. */
  ofText(text: string): Script;
}

const BREAKS = new Set([" ", "\t", "\n", ";", "&", "|", "(", ")", "<", ">"]);
const PLAIN = /[^\s;&|()<>\\'"$`?*+@!]+/y;
const PLAIN_QUOTED = /[^\\"$`]+/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]/y;
const SHORT_NAME = /[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]/y;

/** Reads words: quotes, backslashes and expansions, each character once. */
export class WordReader {
  readonly #cursor: Cursor;
  readonly #scripts: ScriptReading;
  #closings: Int32Array | undefined;

  constructor(cursor: Cursor, scripts: ScriptReading) {
    this.#cursor = cursor;
    this.#scripts = scripts;
  }

  /** The word that begins here; empty when none does. */
  read(): Word {
    const cursor = this.#cursor;
    const pieces: Piece[] = [];
    while (!cursor.done) {
      const plain = cursor.match(PLAIN);
      if (plain !== "") {
        pieces.push({ kind: "text", text: plain, quoted: false });
        continue;
      }
      const character = cursor.peek();
      if (BREAKS.has(character)) {
        if (!this.#readBreak(character, pieces)) break;
        continue;
      }
      this.#readSpecial(character, pieces);
    }
    return pieces;
  }

  /** All of the cursor's text as the body of a here-document, where only `$`, backquote and backslash mean something. */
  readHereDocument(): Word {
    const pieces: Piece[] = [];
    while (!this.#cursor.done) this.#readQuotedPart(pieces, '"');
    return pieces;
  }

  /** What stands in `(( … ))` or `$(( … ))`, after its opening; takes the closing. */
  readArithmetic(): Word {
    const cursor = this.#cursor;
    const pieces: Piece[] = [];
    let open = 0;
    while (open > 0 || !cursor.startsWith("))")) {
      if (cursor.done) throw new Malformed("an arithmetic expression is not closed");
      const character = cursor.peek();
      if (character === "(" || character === ")") {
        open += character === "(" ? 1 : -1;
        cursor.skip(1);
      } else if ("\\'\"$`".includes(character)) this.#readSpecial(character, pieces);
      else cursor.skip(1);
    }
    cursor.skip(2);
    return pieces;
  }

  /** Whether the `((` that begins here is closed by `))`, and so is no pair of subshells. */
  isArithmetic(): boolean {
    const { text, at } = this.#cursor;
    if (!this.#cursor.startsWith("((")) return false;
    this.#closings ??= matchParentheses(text, this.#cursor.meter);
    const closing = this.#closings[at + 1] ?? 0;
    return closing > 0 && text[closing + 1] === ")";
  }

  /** Takes what follows when it belongs to the word after all: `<( )`, `>( )` and extended patterns. */
  #readBreak(character: string, pieces: Piece[]): boolean {
    const cursor = this.#cursor;
    if ((character === "<" || character === ">") && cursor.peek(1) === "(") {
      cursor.skip(2);
      pieces.push({ kind: "process", script: this.#scripts.toParenthesis(cursor) });
      return true;
    }
    const before = pieces.at(-1);
    if (character !== "(" || before?.kind !== "text" || before.quoted) return false;
    if (!/[?*+@!]$/.test(before.text.slice(-1))) return false;
    pieces.push({ kind: "unknown", inner: this.#readPattern() });
    return true;
  }

  #readPattern(): Word {
    const cursor = this.#cursor;
    const inner: Piece[] = [];
    cursor.skip(1);
    for (let open = 1; open > 0; ) {
      if (cursor.done) throw new Malformed("a pattern in parentheses is not closed");
      const character = cursor.peek();
      if (character === "(" || character === ")") open += character === "(" ? 1 : -1;
      if ("\\'\"$`".includes(character)) this.#readSpecial(character, inner);
      else cursor.skip(1);
    }
    return inner;
  }

  #readSpecial(character: string, pieces: Piece[]): void {
    const cursor = this.#cursor;
    if (character === "$" || character === "`") {
      this.#readExpansion(character, pieces, false);
      return;
    }
    cursor.skip(1);
    if (character === "'")
      pieces.push({ kind: "text", text: cursor.until("'", "a single quote"), quoted: true });
    else if (character === '"') this.#readDoubleQuotes(pieces);
    else if (character !== "\\") pieces.push({ kind: "text", text: character, quoted: false });
    else if (cursor.done) pieces.push({ kind: "text", text: "\\", quoted: true });
    else {
      const escaped = cursor.take();
      if (escaped !== "\n") pieces.push({ kind: "text", text: escaped, quoted: true });
    }
  }

  #readDoubleQuotes(pieces: Piece[]): void {
    // An empty pair still makes a word of its own.
    pieces.push({ kind: "text", text: "", quoted: true });
    while (this.#cursor.peek() !== '"') {
      if (this.#cursor.done) throw new Malformed("a double quote is not closed");
      this.#readQuotedPart(pieces, "");
    }
    this.#cursor.skip(1);
  }

  /** One part of a text in double quotes; `literal` are characters that mean nothing here. */
  #readQuotedPart(pieces: Piece[], literal: string): void {
    const cursor = this.#cursor;
    const plain = cursor.match(PLAIN_QUOTED);
    if (plain !== "") {
      pieces.push({ kind: "text", text: plain, quoted: true });
      return;
    }
    const character = cursor.peek();
    if (character === "$" || character === "`") {
      this.#readExpansion(character, pieces, true);
      return;
    }
    cursor.skip(1);
    if (character !== "\\" || cursor.done) {
      pieces.push({ kind: "text", text: character, quoted: true });
      return;
    }
    const next = cursor.take();
    if (next === "\n") return;
    const escapes = "$`\\".includes(next) || (next === '"' && literal !== '"');
    pieces.push({ kind: "text", text: escapes ? next : `\\${next}`, quoted: true });
  }

  #readExpansion(character: string, pieces: Piece[], quoted: boolean): void {
    if (character === "$") this.#readDollar(pieces, quoted);
    else this.#readBackquotes(pieces, quoted);
  }

  #readDollar(pieces: Piece[], quoted: boolean): void {
    const cursor = this.#cursor;
    cursor.skip(1);
    const next = cursor.peek();
    if (next === "(") {
      if (this.isArithmetic()) {
        cursor.skip(2);
        pieces.push({ kind: "unknown", inner: cursor.meter.within(() => this.readArithmetic()) });
        return;
      }
      cursor.skip(1);
      pieces.push({ kind: "substitution", script: this.#scripts.toParenthesis(cursor), quoted });
    } else if (next === "{") {
      cursor.skip(1);
      pieces.push(cursor.meter.within(() => this.#readParameter(quoted)));
    } else if (next === "'" && !quoted) {
      cursor.skip(1);
      pieces.push({ kind: "text", text: decodeAnsiC(this.#takeAnsiC()), quoted: true });
    } else if (next === '"' && !quoted) {
      cursor.skip(1);
      this.#readDoubleQuotes(pieces);
    } else {
      const name = cursor.match(SHORT_NAME);
      if (name === "") pieces.push({ kind: "text", text: "$", quoted });
      else pieces.push({ kind: "variable", name, quoted, operator: "", operand: [] });
    }
  }

  #takeAnsiC(): string {
    const cursor = this.#cursor;
    const from = cursor.at;
    while (cursor.peek() !== "'") {
      if (cursor.done) throw new Malformed("a $'…' quote is not closed");
      cursor.skip(cursor.peek() === "\\" ? 2 : 1);
    }
    const text = cursor.text.slice(from, cursor.at);
    cursor.skip(1);
    return text;
  }

  /** `${…}`, after its opening. */
  #readParameter(quoted: boolean): Piece {
    const cursor = this.#cursor;
    const prefix = /[#!]/.test(cursor.peek()) && cursor.peek(1) !== "}" ? cursor.take() : "";
    const name = cursor.match(NAME);
    const from = cursor.at;
    const operator = cursor.match(/:?[-=+?]/y).slice(-1);
    const inner = this.#readBraced(quoted, operator !== "");
    if (prefix !== "" || (operator === "" && cursor.at > from + 1)) return { kind: "unknown", inner };
    if (operator === "" || operator === "?")
      return { kind: "variable", name, quoted, operator, operand: inner };
    return { kind: "variable", name, quoted, operator: operator === "+" ? "+" : "-", operand: inner };
  }

  /**
   * The rest of `${…}`; takes the brace. In `"${x:-it's}"` the quote is plain to dash and opens a quote to bash, so
   * there it must come in pairs.
   */
  #readBraced(quoted: boolean, isText: boolean): Word {
    const cursor = this.#cursor;
    const pieces: Piece[] = [];
    let quotes = 0;
    while (cursor.peek() !== "}") {
      if (cursor.done) throw new Malformed("a parameter in braces is not closed");
      const character = cursor.peek();
      if (character === "'" && quoted && isText) {
        cursor.skip(1);
        quotes += 1;
        pieces.push({ kind: "text", text: "'", quoted: true });
      } else if ("\\'\"$`".includes(character)) this.#readSpecial(character, pieces);
      else if ((character === "<" || character === ">") && !quoted && this.#readBreak(character, pieces))
        continue;
      else pieces.push({ kind: "text", text: cursor.take() + cursor.match(/[^}\\'"$`<>]+/y), quoted });
    }
    if (quotes % 2 === 1) throw new Malformed("a single quote in a parameter in braces is not closed");
    cursor.skip(1);
    return pieces;
  }

  #readBackquotes(pieces: Piece[], quoted: boolean): void {
    const cursor = this.#cursor;
    cursor.skip(1);
    let inner = "";
    while (cursor.peek() !== "`") {
      if (cursor.done) throw new Malformed("a backquote is not closed");
      if (cursor.peek() !== "\\") {
        inner += cursor.match(/[^`\\]+/y);
        continue;
      }
      cursor.skip(1);
      const next = cursor.take();
      inner += next === "`" || next === "\\" || next === "$" || (quoted && next === '"') ? next : `\\${next}`;
    }
    cursor.skip(1);
    pieces.push({ kind: "substitution", script: this.#scripts.ofText(inner), quoted });
  }
}

/** For each opening parenthesis the place of its closing one, 0 where there is none; quotes are not looked at. */
function matchParentheses(text: string, meter: Meter): Int32Array {
  meter.step(text.length);
  const closings = new Int32Array(text.length);
  const open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "\\") at += 1;
    else if (character === "(") open.push(at);
    else if (character === ")") {
      const opening = open.pop();
      if (opening !== undefined) closings[opening] = at;
    }
  }
  return closings;
}
