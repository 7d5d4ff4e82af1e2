import { join } from "node:path/posix";
import type { Invocation } from "../../shell-reader/invocation.ts";
import { hasOption, operandsOf, subcommandOf, valuesOfOption } from "../arguments.ts";
import type { CommandFacts } from "../command-classes.ts";
import { locate } from "../sensitive-paths.ts";

const MAKEFILES = ["GNUmakefile", "makefile", "Makefile"];
const SCRIPT_RUNNERS = /^(?:npm|pnpm|yarn|bun)$/;
/** Options of package managers that take the next argument as their value. */
const RUNNER_OPTIONS = /^(?:-C|-w|--prefix|--workspace|--cwd|--dir|--filter)$/;
const RUN_VERBS = /^(?:run|run-script|rum|urn)$/;
const OWN_SCRIPTS: Readonly<Record<string, string>> = { t: "test", tst: "test" };

/** The shell commands that `make` or a package manager would run from a file that the session has written. */
export function recipesRunBy(
  { name, args, cwd }: Invocation,
  contentOf: NonNullable<CommandFacts["contentOf"]>,
): readonly string[] {
  if (name === "make" || name === "gmake") {
    const folder = locate(valuesOfOption(args, "C", "--directory")[0] ?? ".", cwd);
    const named = valuesOfOption(args, "f", "--file", "--makefile");
    const files = (named.length > 0 ? named : MAKEFILES).map((file) => locate(file, folder));
    return files.flatMap((file) => readMakefile(contentOf(file) ?? ""));
  }
  if (!SCRIPT_RUNNERS.test(name) || hasOption(args, /^--version$/)) return [];
  const { verb, rest } = subcommandOf(args, RUNNER_OPTIONS);
  const script = RUN_VERBS.test(verb) ? operandsOf(rest)[0] : (OWN_SCRIPTS[verb] ?? verb);
  const folder = locate(valuesOfOption(args, "C", "--prefix", "--cwd", "--dir")[0] ?? ".", cwd);
  return script === undefined ? [] : readScripts(contentOf(join(folder, "package.json")) ?? "{}", script);
}

/** The lines of all recipes, with variables of make rewritten as variables of a shell. */
function readMakefile(text: string): readonly string[] {
  const lines = [...text.matchAll(/^\t[@+-]*(.*(?:\\\n.*)*)/gm)].map(([, line = ""]) => line);
  return lines.map((line) => line.replace(/\$\((\w+)\)/g, "$$$1").replaceAll("$$", "$"));
}

function readScripts(text: string, script: string): readonly string[] {
  try {
    const { scripts } = JSON.parse(text) as { readonly scripts?: Readonly<Record<string, unknown>> };
    return [`pre${script}`, script, `post${script}`]
      .map((key) => scripts?.[key])
      .filter((value) => typeof value === "string");
  } catch {
    return []; // the package manager will report the error
  }
}
