import { UNKNOWN } from "../shell-reader/scope.ts";

/** The arguments that are not options. `valued` matches options that take the next argument as their value. */
export function operandsOf(args: readonly string[], valued?: RegExp): readonly string[] {
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--") return [...operands, ...args.slice(at + 1)];
    if (word.startsWith("-") && word !== "-") at += valued?.test(word) ? 1 : 0;
    else operands.push(word);
  }
  return operands;
}

/** Whether an argument before `--` matches. */
export function hasOption(args: readonly string[], option: RegExp): boolean {
  for (const word of args) {
    if (word === "--") return false;
    if (option.test(word)) return true;
  }
  return false;
}

/** The values of an option: `-o VALUE`, `-oVALUE`, `--output VALUE`, `--output=VALUE`. */
export function valuesOfOption(
  args: readonly string[],
  short: string | undefined,
  ...long: readonly string[]
): readonly string[] {
  const values: string[] = [];
  for (const [at, word] of args.entries()) {
    const equals = word.indexOf("=");
    if (long.includes(word)) values.push(args[at + 1] ?? "");
    else if (equals > 0 && long.includes(word.slice(0, equals))) values.push(word.slice(equals + 1));
    else if (short !== undefined && /^-[A-Za-z]/.test(word) && word.includes(short)) {
      const value = word.slice(word.indexOf(short) + 1);
      values.push(value === "" ? (args[at + 1] ?? "") : value);
    }
  }
  return values;
}

/** A subcommand and the arguments after it. The options of the program itself come first and are skipped. */
export interface Subcommand {
  readonly verb: string;
  readonly rest: readonly string[];
}

/** Finds the subcommand of a program such as git or docker. */
export function subcommandOf(args: readonly string[], valued?: RegExp): Subcommand {
  let at = 0;
  while (at < args.length && (args[at] ?? "").startsWith("-")) at += valued?.test(args[at] ?? "") ? 2 : 1;
  return { verb: args[at] ?? "", rest: args.slice(at + 1) };
}

/** Whether the beginning of a word is unknown, so that the word could be anything. */
export function isUnknown(word: string): boolean {
  return word.startsWith(UNKNOWN);
}

/** Quotes words for a shell. */
export function quoteWords(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}
