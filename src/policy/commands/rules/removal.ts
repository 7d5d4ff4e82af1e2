import { type Invocation, nameOf } from "../../shell-reader/invocation.ts";
import {
  type FindExpression,
  foundBy,
  parseFindArguments,
} from "../../shell-reader/programs/parse-find-arguments.ts";
import { parseShellArguments } from "../../shell-reader/programs/parse-shell-arguments.ts";
import { unwrapCommand } from "../../shell-reader/programs/unwrap-command.ts";
import { UNKNOWN } from "../../shell-reader/scope.ts";
import { hasOption, operandsOf } from "../arguments.ts";
import type { CommandFacts, Match } from "../command-classes.ts";
import { isRebuildable, mayBeOutput } from "../rebuildable-paths.ts";
import { locate } from "../sensitive-paths.ts";
import type { ClassRule } from "./class-rule.ts";

const REMOVERS = new Set(["rm", "grm", "srm", "unlink", "shred", "trash", "rimraf", "del-cli"]);
/** A script that removes its arguments: `rm "$1"`, `rm -f -- "$@"`. */
const REMOVER_IN_SCRIPT = /(?:^|[;&|({\s])(?:\/\S{0,40}\/)?(?:rm|unlink|shred|srm|trash)\s[^;&|\n]{0,200}\$/;
const RECURSIVE_REMOVERS = new Set(["rimraf", "del-cli", "trash"]);
const EVERYTHING = /^[.*?]*\*[.*?]*$/;
const MAX_PATTERN_LENGTH = 20;

/** Removing folders, or many files at once. */
export const checkRemoval: ClassRule = (invocation, { facts }) => {
  const { name } = invocation;
  if (REMOVERS.has(name)) return checkRemover(invocation, facts);
  if (name === "find" || name === "fd" || name === "fdfind") return checkFind(invocation, facts);
  if (name === "xargs" || name === "parallel") return checkList(invocation, facts);
  if (/^(?:bsd)?tar$/.test(name) && hasOption(invocation.args, /^--remove-files$/)) {
    const operands = operandsOf(invocation.args).filter((path) => !isRebuildable(path, invocation, facts));
    return operands.length > 0
      ? { class: "recursive-removal", effect: "removes the files that it has packed" }
      : undefined;
  }
  if (name === "rsync" && hasOption(invocation.args, /^--(?:delete.*|remove-source-files)$/))
    return checkSync(invocation, facts);
  return undefined;
};

function checkRemover(invocation: Invocation, facts: CommandFacts): Match | undefined {
  const { name, args, upstream } = invocation;
  if (hasOption(args, /^--(?:help|version)$/)) return undefined;
  const isRecursive =
    RECURSIVE_REMOVERS.has(name) ||
    hasOption(args, /^-[a-zA-Z]*[rR]|^--r[a-z]*$/) ||
    hasOption(args, /^\/s$/i);
  const operands = operandsOf(args);
  if (operands.length === 0 && isRecursive) {
    // The operands come from elsewhere, for example from xargs.
    const find = upstream.find("find");
    if (find && isHarmlessSearch(find, parseFindArguments(find.args), facts)) return undefined;
    return { class: "recursive-removal", effect: "removes folders that the command does not name" };
  }
  const lost = operands.filter((path) => !isRebuildable(path, invocation, facts));
  const [first] = lost;
  if (isRecursive && first !== undefined)
    return {
      class: "recursive-removal",
      effect: `removes ${shownPath(first)} and everything in it`,
      harmlessIf: lost.every((path) => mayBeOutput(path, invocation, facts))
        ? { state: "ignored", paths: lost.map((path) => locate(path, invocation.cwd)) }
        : undefined,
    };
  const pattern = lost.find((path) => matchesEverything(path.split("/").at(-1) ?? ""));
  if (pattern !== undefined)
    return { class: "bulk-removal", effect: `removes all files that match ${pattern}` };
  return undefined;
}

function checkFind(invocation: Invocation, facts: CommandFacts): Match | undefined {
  const { name, args } = invocation;
  if (name !== "find") {
    const at = args.findIndex((word) => /^-[a-zA-Z]*[xX]$|^--exec(?:-batch)?$/.test(word));
    return at >= 0 && REMOVERS.has(nameOf(args[at + 1] ?? ""))
      ? { class: "bulk-removal", effect: "removes every file that a search finds" }
      : undefined;
  }
  const expression = parseFindArguments(args);
  const removes = expression.deletes || expression.commands.some((words) => startsRemover(words));
  if (!removes || isHarmlessSearch(invocation, expression, facts)) return undefined;
  return expression.picks
    ? { class: "bulk-removal", effect: "removes every file that a search finds" }
    : { class: "recursive-removal", effect: `removes ${expression.roots.join(" ")} and everything in it` };
}

function isHarmlessSearch(invocation: Invocation, expression: FindExpression, facts: CommandFacts): boolean {
  return foundBy(expression).every((path) => isRebuildable(path, invocation, facts));
}

/** Checks `… | xargs rm`, whose files are known only when the command runs. */
function checkList({ name, args, input, upstream }: Invocation, facts: CommandFacts): Match | undefined {
  const command = unwrapCommand(name, args);
  if (command?.kind !== "words" || !startsRemover(command.words) || input.length > 0) return undefined;
  const find = upstream.find("find");
  if (find && isHarmlessSearch(find, parseFindArguments(find.args), facts)) return undefined;
  return { class: "bulk-removal", effect: "removes every file of a list that another program prints" };
}

function startsRemover(words: readonly string[]): boolean {
  const name = nameOf(words[0] ?? "");
  if (REMOVERS.has(name)) return true;
  const shell = parseShellArguments(name, words.slice(1));
  if (shell !== undefined) return shell.kind === "text" && REMOVER_IN_SCRIPT.test(shell.text);
  const inner = unwrapCommand(name, words.slice(1));
  return inner?.kind === "words" && REMOVERS.has(nameOf(inner.words[0] ?? ""));
}

function checkSync(invocation: Invocation, facts: CommandFacts): Match | undefined {
  if (hasOption(invocation.args, /^-[a-zA-Z]*n|^--dry-run$/)) return undefined;
  const target = operandsOf(invocation.args, /^-[ef]$|^--(?:exclude|include|rsh|filter)$/).at(-1) ?? UNKNOWN;
  return isRebuildable(target, invocation, facts)
    ? undefined
    : { class: "bulk-removal", effect: `removes what is in ${shownPath(target)} and not in the source` };
}

function matchesEverything(name: string): boolean {
  return name.length <= MAX_PATTERN_LENGTH && EVERYTHING.test(name);
}

function shownPath(path: string): string {
  return path.replaceAll(UNKNOWN, "…");
}
