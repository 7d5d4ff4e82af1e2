import { plainText } from "./plain-text.ts";
import { UNKNOWN } from "./scope.ts";

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

/** A program's name. What is unknown in it may be empty, as in `r$@m`; a name of nothing else stays UNKNOWN. */
export function nameOf(program: string): string {
  const name = (plainText(program).split("/").at(-1) ?? "").toLowerCase();
  return name.replaceAll(UNKNOWN, "") || name.slice(0, 1);
}
