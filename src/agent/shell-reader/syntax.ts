/** A part of a word; the shell joins the parts after it has expanded each of them. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: "variable";
      readonly name: string;
      readonly quoted: boolean;
      /** `-` and `+` offer the operand, `?` only checks; whatever else changes the value is an `unknown` piece. */
      readonly operator: "" | "-" | "+" | "?";
      readonly operand: Word;
    }
  | { readonly kind: "substitution"; readonly script: Script; readonly quoted: boolean }
  | { readonly kind: "process"; readonly script: Script }
  /** A value that nobody can tell from the text alone; `inner` may still start programs. */
  | { readonly kind: "unknown"; readonly inner: Word };

export type Word = readonly Piece[];

export interface Assignment {
  readonly name: string;
  readonly appends: boolean;
  /** One word, or the elements of an array. */
  readonly values: readonly Word[];
}

export interface Redirection {
  /** As written, without the number of the descriptor: `<`, `>`, `>>`, `>|`, `<>`, `>&`, `&>`, `<<`, `<<<`, … */
  readonly operator: string;
  /** The file, or for `<<` the text of the here-document. */
  target: Word;
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
  /** Of a function, or of the variable of a loop. */
  readonly name: string;
  /** What a loop runs over, what a case looks at, what a test compares. */
  readonly words: readonly Word[];
  readonly parts: readonly Script[];
  readonly redirections: readonly Redirection[];
}

export type Command = SimpleCommand | CompoundCommand;

export interface Pipeline {
  readonly stages: readonly Command[];
  background: boolean;
  /** Stands behind `&&` or `||`, so it may not run. */
  readonly conditional: boolean;
}

export interface Script {
  readonly pipelines: Pipeline[];
}

/** The text of a word without expansions, or undefined when it has any. */
export function literalText(word: Word): string | undefined {
  let text = "";
  for (const piece of word) {
    if (piece.kind !== "text") return undefined;
    text += piece.text;
  }
  return text;
}
