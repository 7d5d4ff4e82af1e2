import { UNKNOWN } from "../../shell-reader/scope.ts";
import { quoteWords } from "../arguments.ts";
import type { CodeToken } from "./code-tokens.ts";

/** One call in a program, with the tokens between its parentheses. */
export interface CodeCall {
  /** The name as written, with its qualifiers. */
  readonly name: string;
  /** The name without qualifiers. */
  readonly method: string;
  readonly tokens: readonly CodeToken[];
  /** The name after the closing parenthesis: `write_text` in `Path("x").write_text(…)`. */
  readonly chained: string;
}

/** Longer argument lists are cut; no relevant call has as many arguments. */
const MAX_ARGUMENT_TOKENS = 200;
const MAX_CALLS = 2_000;

/** Finds the calls of a program, including those without parentheses, such as `system "ls"`. */
export function findCalls(tokens: readonly CodeToken[]): readonly CodeCall[] {
  const closers = findClosers(tokens);
  const calls: CodeCall[] = [];
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== "name" || calls.length >= MAX_CALLS) continue;
    const next = tokens[at + 1];
    if (next?.text === "(" && next.kind === "mark") {
      const end = closers.get(at + 1) ?? tokens.length;
      const inside = tokens.slice(at + 2, Math.min(end, at + 2 + MAX_ARGUMENT_TOKENS));
      calls.push({
        name: text,
        method: methodOf(text),
        tokens: inside,
        chained: methodOf(tokens[end + 1]?.text ?? ""),
      });
    } else if (next?.kind === "string") {
      const line = tokens.slice(at + 1, at + 1 + MAX_ARGUMENT_TOKENS);
      const end = line.findIndex((token) => token.kind === "mark" && /[;\n}]/.test(token.text));
      calls.push({
        name: text,
        method: methodOf(text),
        tokens: end < 0 ? line : line.slice(0, end),
        chained: "",
      });
    }
  }
  return calls;
}

export function methodOf(name: string): string {
  return name.split(/\.|::|->/).at(-1) ?? "";
}

function findClosers(tokens: readonly CodeToken[]): ReadonlyMap<number, number> {
  const closers = new Map<number, number>();
  const open: number[] = [];
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== "mark") continue;
    if (text === "(") open.push(at);
    else if (text === ")") {
      const from = open.pop();
      if (from !== undefined) closers.set(from, at);
    }
  }
  return closers;
}

/** The first argument: its literal strings joined, with unknown text in place of everything else. */
export function firstArgument(tokens: readonly CodeToken[]): string {
  let depth = 0;
  let text = "";
  for (const { kind, text: part } of tokens) {
    if (kind === "mark" && /[([{]/.test(part)) depth += 1;
    else if (kind === "mark" && /[)\]}]/.test(part)) depth -= 1;
    else if (kind === "mark" && part === "," && depth === 0) break;
    else if (kind === "string") text += part;
    else if (kind === "name" && !text.endsWith(UNKNOWN)) text += UNKNOWN;
  }
  return text;
}

/** The commands that a call could run: its first argument, and all its strings as the words of one command. */
export function commandsOf({ tokens }: CodeCall): readonly string[] {
  const words = stringsOf(tokens);
  return words.length > 1 ? [firstArgument(tokens), quoteWords(words)] : [firstArgument(tokens)];
}

export function stringsOf(tokens: readonly CodeToken[]): readonly string[] {
  return tokens.filter(({ kind }) => kind === "string").map(({ text }) => text);
}

/** Strings that are joined by `/`, `,` or `+`, as paths: `Path.home() / ".ssh" / "id_rsa"`. */
export function joinedPaths(tokens: readonly CodeToken[]): readonly string[] {
  const paths: string[] = [];
  let path: string | undefined;
  let separator = "";
  for (const { kind, text } of tokens) {
    if (kind === "string") {
      path = path !== undefined && separator !== "" ? path + (separator === "+" ? "" : "/") + text : text;
      if (path.length < 1_000) paths.push(path);
      separator = "";
    } else if (kind === "mark" && path !== undefined && separator === "" && /^[/,+.]$/.test(text))
      separator = text;
    else {
      path = undefined;
      separator = "";
    }
  }
  return paths;
}
