import { UNKNOWN } from "../../shell-reader/scope.ts";
import type { CodeLanguage } from "./interpreters.ts";

/** A part of a program: a name such as `os.path.join`, the value of a literal string, or any other character. */
export interface CodeToken {
  readonly kind: "name" | "string" | "mark";
  readonly text: string;
}

const NAME = /[\p{L}\p{N}_$@]/u;
const HASH_COMMENTS = new Set<CodeLanguage>(["python", "perl", "ruby", "php"]);
const BACKTICK_RUNS = new Set<CodeLanguage>(["perl", "ruby", "php"]);
const REGEX_LANGUAGES = new Set<CodeLanguage>(["javascript", "perl", "ruby"]);
const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };
const BEFORE_REGEX = /^(?:return|if|unless|and|or|not|split|grep|when|while|until|typeof|case|in|of)$/;

/** Splits a program into tokens, in one pass. Comments and regular expressions are omitted. */
export function readCodeTokens(code: string, language: CodeLanguage): readonly CodeToken[] {
  return new CodeReader(code, language).read();
}

class CodeReader {
  readonly #code: string;
  readonly #language: CodeLanguage;
  readonly #tokens: CodeToken[] = [];
  #at = 0;

  constructor(code: string, language: CodeLanguage) {
    this.#code = code;
    this.#language = language;
  }

  read(): readonly CodeToken[] {
    while (this.#at < this.#code.length) this.#next();
    return this.#tokens;
  }

  #next(): void {
    const character = this.#code[this.#at] ?? "";
    const pair = character + (this.#code[this.#at + 1] ?? "");
    if (character === "#" && HASH_COMMENTS.has(this.#language)) this.#skipTo("\n");
    else if (pair === "//" && (this.#language === "javascript" || this.#language === "php"))
      this.#skipTo("\n");
    else if (pair === "/*" && (this.#language === "javascript" || this.#language === "php")) {
      this.#skipTo("*/");
      this.#at += 2;
    } else if (character === "'" || character === '"' || character === "`") this.#string(character);
    else if (character === "/" && REGEX_LANGUAGES.has(this.#language) && this.#expectsValue()) this.#regex();
    else if (
      character === "%" &&
      this.#language === "ruby" &&
      /^%[xqQwW]?[([{<|!]/.test(this.#code.slice(this.#at, this.#at + 3))
    )
      this.#quoteLike();
    else if (NAME.test(character)) this.#name();
    else if (character === "." && NAME.test(this.#code[this.#at + 1] ?? "")) this.#name();
    else {
      this.#at += 1;
      if (!/[ \t\r]/.test(character)) this.#push("mark", character);
    }
  }

  #push(kind: CodeToken["kind"], text: string): void {
    this.#tokens.push({ kind, text });
  }

  #skipTo(mark: string): void {
    const end = this.#code.indexOf(mark, this.#at);
    this.#at = end < 0 ? this.#code.length : end;
  }

  /** A name with its qualifiers: `os.path`, `File::Path`, `$this->db`. */
  #name(): void {
    const start = this.#at;
    while (this.#at < this.#code.length) {
      const rest = this.#code.slice(this.#at, this.#at + 3);
      if (NAME.test(rest[0] ?? "")) this.#at += 1;
      else if (rest[0] === "." && NAME.test(rest[1] ?? "")) this.#at += 2;
      else if (/^(?:::|->|\?\.)/.test(rest) && NAME.test(rest[2] ?? "")) this.#at += 3;
      else break;
    }
    const name = this.#code.slice(start, this.#at);
    const next = this.#code[this.#at] ?? "";
    if (this.#language === "python" && /^[fFrRbBuU]{1,2}$/.test(name) && /["']/.test(next)) {
      this.#string(next, name.toLowerCase());
      return;
    }
    if (this.#language === "perl" && /^(?:q|qq|qw|qx|m|qr|s|tr|y)$/.test(name) && /[/|!{([<#,~]/.test(next)) {
      this.#perlQuote(name);
      return;
    }
    this.#push("name", name);
  }

  #string(quote: string, prefix = ""): void {
    const isTriple = this.#language === "python" && this.#code.startsWith(quote.repeat(3), this.#at);
    const mark = isTriple ? quote.repeat(3) : quote;
    const isSingleLine =
      !isTriple && (this.#language === "python" || (this.#language === "javascript" && quote !== "`"));
    const start = this.#at + mark.length;
    let end = start;
    while (end < this.#code.length && !this.#code.startsWith(mark, end)) {
      if (this.#code[end] === "\n" && isSingleLine) break;
      end += this.#code[end] === "\\" ? 2 : 1;
    }
    const raw = this.#code.slice(start, end);
    this.#at = end + mark.length;
    if (quote === "`" && BACKTICK_RUNS.has(this.#language)) this.#push("name", "`");
    this.#push("string", this.#valueOf(raw, quote, prefix));
  }

  #valueOf(raw: string, quote: string, prefix: string): string {
    const isPlain = prefix.includes("r") || (quote === "'" && /^(?:perl|ruby|php)$/.test(this.#language));
    const text = isPlain ? raw.replace(/\\(['\\])/g, "$1") : decodeEscapes(raw);
    if (prefix.includes("f")) return text.replace(/\{[^{}]*\}/g, UNKNOWN);
    if (this.#language === "javascript" && quote === "`") return text.replace(/\$\{[^{}]*\}/g, UNKNOWN);
    return this.#language === "ruby" && quote !== "'" ? text.replace(/#\{[^{}]*\}/g, UNKNOWN) : text;
  }

  /** Whether a slash here starts a regular expression rather than a division. */
  #expectsValue(): boolean {
    const last = this.#tokens.at(-1);
    if (!last) return true;
    if (last.kind === "string") return false;
    return last.kind === "mark" ? !/[)\]}]/.test(last.text) : BEFORE_REGEX.test(last.text);
  }

  #regex(): void {
    const lineEnd = this.#code.indexOf("\n", this.#at);
    const limit = Math.min(lineEnd < 0 ? this.#code.length : lineEnd, this.#at + 1_000);
    let end = this.#at + 1;
    while (end < limit && this.#code[end] !== "/") end += this.#code[end] === "\\" ? 2 : 1;
    if (end >= limit) {
      this.#at += 1;
      this.#push("mark", "/");
      return;
    }
    this.#at = end + 1;
    this.#push("mark", "/");
  }

  /** `q{…}`, `qx(…)`, `s/…/…/e` of Perl. */
  #perlQuote(kind: string): void {
    const first = this.#section();
    if (kind === "s" || kind === "tr" || kind === "y") {
      if (CLOSERS[first.open] === undefined) this.#at -= 1;
      const second = this.#section();
      const start = this.#at;
      while (/[a-z]/.test(this.#code[this.#at] ?? "")) this.#at += 1;
      // The replacement of `s/…/…/e` is code.
      if (kind === "s" && this.#code.slice(start, this.#at).includes("e"))
        for (const { kind, text } of readCodeTokens(second.text, this.#language)) this.#push(kind, text);
      return;
    }
    if (kind === "m" || kind === "qr") return;
    if (kind === "qx") this.#push("name", "`");
    if (kind === "qw") for (const word of first.text.split(/\s+/)) this.#push("string", word);
    else this.#push("string", first.text);
  }

  /** `%x(…)`, `%w[…]` of Ruby. */
  #quoteLike(): void {
    const kind = /[a-zA-Z]/.test(this.#code[this.#at + 1] ?? "") ? (this.#code[this.#at + 1] ?? "") : "";
    this.#at += 1 + kind.length;
    const { text } = this.#section();
    if (kind === "x") this.#push("name", "`");
    if (/^w$/i.test(kind)) for (const word of text.split(/\s+/)) this.#push("string", word);
    else this.#push("string", text);
  }

  /** The text between a delimiter here and its partner. */
  #section(): { readonly open: string; readonly text: string } {
    const open = this.#code[this.#at] ?? "";
    const close = CLOSERS[open] ?? open;
    const start = this.#at + 1;
    let depth = 1;
    let end = start;
    while (end < this.#code.length) {
      const character = this.#code[end] ?? "";
      if (character === close) depth -= 1;
      else if (character === open) depth += 1;
      if (depth === 0) break;
      end += character === "\\" ? 2 : 1;
    }
    this.#at = end + 1;
    return { open, text: this.#code.slice(start, end) };
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "0": "\0", "\n": "" };

function decodeEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\s\S]))/g, (_, hex, unicode, character) => {
    const code = hex ?? unicode;
    return code === undefined
      ? (ESCAPES[character] ?? character)
      : String.fromCharCode(Number.parseInt(code, 16));
  });
}
