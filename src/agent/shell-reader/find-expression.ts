/** What a call of `find` does, as far as deciding what it reaches needs it. */
export interface FindExpression {
  readonly roots: readonly string[];
  /** Whether some test picks files by name, age, owner or the like, so that not everything is reached. */
  readonly picks: boolean;
  readonly deletes: boolean;
  /** The commands behind -exec and its kin, with their `{}`. */
  readonly commands: readonly (readonly string[])[];
}

const OPERATORS = new Set([..."!(),", "-a", "-and", "-o", "-or", "-not"]);
// These let everything below the roots through; each takes the given number of arguments.
const NOT_PICKING = new Map([
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

/** Reads the arguments of `find`. */
export function readFind(args: readonly string[]): FindExpression {
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
    const taken = NOT_PICKING.get(word);
    deletes ||= word === "-delete";
    picks ||= taken === undefined;
    at += taken ?? 0;
  }
  return { roots: roots.length > 0 ? roots : ["."], picks, deletes, commands };
}

function startsExpression(word: string): boolean {
  return (word.startsWith("-") && word !== "-") || word === "!" || word === "(";
}

function endOfCommand(args: readonly string[], from: number): number {
  for (let at = from; at < args.length; at += 1)
    if (args[at] === ";" || (args[at] === "+" && args[at - 1] === "{}")) return at;
  return args.length;
}
