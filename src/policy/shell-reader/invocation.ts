import { shorten } from "../../lib/text/shorten.ts";
import { UNKNOWN } from "./scope.ts";
import type { Upstream } from "./upstream.ts";
import { normalizeWord } from "./values/normalize-word.ts";

export interface OpenedFile {
  /** `<`, `>`, `>>`, `>|`, `<>`, `>&`, `&>`, … */
  readonly operator: string;
  readonly path: string;
}

/**
 * Where the name of a program comes from: the text, a variable of the environment, a pattern or partly unknown word, or a
 * computation in the text that only a shell can carry out.
 */
export type Naming = "text" | "environment" | "pattern" | "computed";

/** One program that a text would start, with its arguments as far as they are known. */
export interface Invocation {
  /** The program's name without its folder, lower-cased; empty if the command has only redirections. */
  readonly name: string;
  /** The program as written. */
  readonly program: string;
  /** Its arguments as a reader sees them, without invisible characters and line ends. */
  readonly args: readonly string[];
  /** Its arguments as the program gets them, for arguments that are code or commands. */
  readonly texts: readonly string[];
  readonly files: readonly OpenedFile[];
  /** The working folder, or undefined if it cannot be determined from the text. */
  readonly cwd: string | undefined;
  /** Known texts that it could read: its standard input and the process substitutions in its arguments. */
  readonly input: readonly string[];
  /** The programs whose output it could read. */
  readonly upstream: Upstream<Invocation>;
  /** Whether it runs on another machine, or is started by a program whose name is unknown. */
  readonly remote: boolean;
  readonly naming: Naming;
  /** Whether its arguments expand to more fields than are listed. */
  readonly isCut: boolean;
}

/** The name of a program. Unknown parts are treated as empty, as in `r$@m`; a completely unknown name stays UNKNOWN. */
export function nameOf(program: string): string {
  const normal = normalizeWord(program);
  const name = normal.slice(normal.lastIndexOf("/") + 1).toLowerCase();
  return name.includes(UNKNOWN) ? name.replaceAll(UNKNOWN, "") || name.slice(0, 1) : name;
}

const MAX_SHOWN_CHARS = 120;

/** One line that shows an invocation to a person. */
export function formatInvocation({ program, args, files }: Invocation): string {
  const redirected = files.map(({ operator, path }) => `${operator} ${path}`);
  const words = [program, ...args, ...redirected].filter((word) => word !== "").join(" ");
  return shorten(words, MAX_SHOWN_CHARS);
}
