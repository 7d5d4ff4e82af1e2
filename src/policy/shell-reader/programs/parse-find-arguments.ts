import { UNKNOWN } from "../scope.ts";

/** A parsed call of `find`: which files it selects, and what it runs on them. */
export interface FindExpression {
  readonly roots: readonly string[];
  /** Whether tests such as name, age or owner restrict the selection. */
  readonly picks: boolean;
  /** Name patterns. Every selected file matches one of them; empty if other tests select the files. */
  readonly names: readonly string[];
  readonly deletes: boolean;
  /** The commands after -exec, -execdir, -ok and -okdir, with their `{}`. */
  readonly commands: readonly (readonly string[])[];
}

const OPERATORS = new Set([..."!(),", "-a", "-and", "-o", "-or", "-not"]);
// Primaries that do not restrict the selection, with their number of arguments.
const UNRESTRICTIVE = new Map([
  ["-depth", 0],
  ["-d", 0],
  ["-xdev", 0],
  ["-mount", 0],
  ["-follow", 0],
  ["-noleaf", 0],
  ["-daystart", 0],
  ["-ignore_readdir_race", 0],
  ["-print", 0],
  ["-print0", 0],
  ["-ls", 0],
  ["-true", 0],
  ["-delete", 0],
  ["-mindepth", 1],
  ["-maxdepth", 1],
  ["-type", 1],
  ["-printf", 1],
]);
const EXECUTORS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** Parses the arguments of `find`. */
export function parseFindArguments(args: readonly string[]): FindExpression {
  let at = 0;
  while (/^-(?:[HLP]+|O\d*)$/.test(args[at] ?? "")) at += 1;
  const roots: string[] = [];
  for (; at < args.length && !startsExpression(args[at] ?? ""); at += 1) roots.push(args[at] ?? "");
  const commands: string[][] = [];
  let picks = false;
  let deletes = false;
  while (at < args.length) {
    const word = args[at] ?? "";
    at += 1;
    if (EXECUTORS.has(word)) {
      const end = endOfCommand(args, at);
      commands.push(args.slice(at, end));
      at = end + 1;
      continue;
    }
    if (OPERATORS.has(word)) continue;
    const taken = UNRESTRICTIVE.get(word);
    deletes ||= word === "-delete";
    picks ||= taken === undefined;
    at += taken ?? 0;
  }
  return { roots: roots.length > 0 ? roots : ["."], picks, names: namesOf(args), deletes, commands };
}

/** The patterns of `-name`; none if a negation or an alternative without a name selects other files too. */
function namesOf(args: readonly string[]): readonly string[] {
  const names: string[] = [];
  for (const [at, word] of args.entries()) {
    if (/^(?:!|-not|,)$/.test(word)) return [];
    if (/^-o(?:r)?$/.test(word) && !(isNameTest(args[at - 2]) && isNameTest(args[at + 1]))) return [];
    if (isNameTest(word)) names.push(args[at + 1] ?? "");
  }
  return names;
}

function isNameTest(word: string | undefined): boolean {
  return word === "-name" || word === "-iname";
}

/** The files that a call of `find` acts on, as patterns of paths. */
export function foundBy({ roots, picks, names }: FindExpression): readonly string[] {
  if (!picks) return roots;
  const patterns = names.length > 0 ? names : [UNKNOWN];
  return roots.flatMap((root) => patterns.map((name) => `${root}/${name}`));
}

function startsExpression(word: string): boolean {
  return (word.startsWith("-") && word !== "-") || word === "!" || word === "(";
}

function endOfCommand(args: readonly string[], from: number): number {
  for (let at = from; at < args.length; at += 1)
    if (args[at] === ";" || (args[at] === "+" && args[at - 1] === "{}")) return at;
  return args.length;
}
