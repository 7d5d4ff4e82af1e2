/** A part of a word; the shell expands each part and then joins them. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly quoted: boolean;
      /** `-` and `+` may yield the operand, `?` only checks. Other operators become an `unknown` piece. */
      readonly operator: "" | "-" | "+" | "?";
      readonly operand: Word;
    }
  /** `${!a}`, `${a[…]}` or a changed value, such as `${a#…}`. `inner` has the words inside, which may start programs. */
  | {
      readonly kind: "parameter";
      readonly name: string;
      readonly quoted: boolean;
      readonly indirect: boolean;
      readonly index: string;
      readonly change: Change | undefined;
      readonly inner: Word;
    }
  | { readonly kind: "substitution"; readonly script: Script; readonly quoted: boolean }
  | { readonly kind: "process"; readonly script: Script }
  /** A value that the text does not determine. `inner` may still start programs. */
  | { readonly kind: "unknown"; readonly inner: Word; readonly evaluation?: Evaluation };

/** How an expansion changes the value of a variable. */
export type Change =
  | { readonly type: "remove"; readonly operator: string; readonly pattern: Word }
  | {
      readonly type: "replace";
      readonly operator: string;
      readonly pattern: Word;
      readonly replacement: Word;
    }
  | { readonly type: "slice"; readonly offset: string; readonly length: string | undefined }
  | { readonly type: "case"; readonly operator: string };

/**
 * A text that the shell evaluates again: as arithmetic, as the name of a variable, possibly with a subscript, or as a prompt.
 * Commands hidden in a value would run. `set`: arithmetic assigns the variable, which is a number from then on.
 */
export interface Evaluation {
  readonly as: "arithmetic" | "set" | "name" | "prompt";
  readonly text: string;
}

export type Word = readonly Piece[];

export interface Assignment {
  readonly name: string;
  readonly appends: boolean;
  readonly isArray: boolean;
  /** The content of the brackets in `a[…]=`. */
  readonly index: Word;
  /** The same as written. */
  readonly indexText: string;
  /** One word, or the elements of an array. */
  readonly values: readonly Word[];
}

export interface Redirection {
  /** As written, without the descriptor number: `<`, `>`, `>>`, `>|`, `<>`, `>&`, `&>`, `<<`, `<<<`, … */
  readonly operator: string;
  /** The file, or for `<<` the text of the here-document. */
  readonly target: Word;
}

export interface SimpleCommand {
  readonly kind: "simple";
  readonly assignments: readonly Assignment[];
  readonly words: readonly Word[];
  readonly redirections: readonly Redirection[];
}

export interface CompoundCommand {
  readonly kind: "compound";
  readonly type: "group" | "subshell" | "branch" | "loop" | "function" | "test";
  /** The name of a function or of a loop variable. */
  readonly name: string;
  /** The items of a loop, the subject of a case, or the operands of a test. */
  readonly words: readonly Word[];
  readonly parts: readonly Script[];
  readonly redirections: readonly Redirection[];
}

export type Command = SimpleCommand | CompoundCommand;

export interface Pipeline {
  readonly stages: readonly Command[];
  readonly background: boolean;
  /** Whether it follows `&&` or `||` and therefore may not run. */
  readonly conditional: boolean;
}

export interface Script {
  readonly pipelines: readonly Pipeline[];
}

/** The text of a word, or undefined if the word has expansions. */
export function literalText(word: Word): string | undefined {
  let text = "";
  for (const piece of word) {
    if (piece.kind !== "text") return undefined;
    text += piece.text;
  }
  return text;
}
