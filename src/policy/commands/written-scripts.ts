import type { Invocation } from "../shell-reader/invocation.ts";
import { isStandardInput, parseShellArguments } from "../shell-reader/programs/parse-shell-arguments.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import { evaluateOutput } from "../shell-reader/values/evaluate-output.ts";
import { operandsOf } from "./arguments.ts";
import { locate } from "./sensitive-paths.ts";
import { isWritten, writtenBy } from "./written-files.ts";

type ContentOf = (path: string) => string | undefined;

/** Limits files that are appended to themselves, which would double in size each time. */
const MAX_CONTENT = 256 * 1024;
const MAX_PARTS = 64;
/** Programs that print the content of the files in their arguments. */
const FILE_PRINTERS = ["cat", "head", "tail"];
const COPIERS = new Set(["cp", "gcp", "mv", "install", "ln"]);

/**
 * The files whose content the command itself shows, by absolute path: `cat > run.sh <<EOF`, `echo … > run.sh`, and copies of
 * files with known content. `contentOf` returns the content of files that earlier calls have written.
 */
export function findWrittenScripts(
  invocations: readonly Invocation[],
  contentOf: ContentOf = () => undefined,
): ReadonlyMap<string, string> {
  const scripts = new Map<string, string>();
  const known: ContentOf = (path) => scripts.get(path) ?? contentOf(path);
  for (const invocation of invocations) {
    const { name, texts, files, input, args, cwd } = invocation;
    const targets: { path: string; isAppended: boolean }[] = files
      .filter(isWritten)
      .map(({ operator, path }) => ({ path, isAppended: operator === ">>" || operator === "&>>" }));
    if (name === "tee") {
      const isAppended = args.some((word) => /^(?:-[a-z]*a|--append)/.test(word));
      targets.push(...operandsOf(texts).map((path) => ({ path, isAppended })));
    }
    if (COPIERS.has(name))
      targets.push(...writtenBy(invocation).map((path) => ({ path, isAppended: false })));
    if (targets.length === 0) continue;
    const content = COPIERS.has(name)
      ? contentOfFiles(args, cwd, known)
      : (evaluateOutput(name, texts, input.at(-1)) ??
        (FILE_PRINTERS.includes(name) ? contentOfFiles(args, cwd, known) : undefined));
    if (content === undefined) continue;
    for (const { path, isAppended } of targets) {
      const absolute = locate(path, cwd);
      const whole = isAppended ? (known(absolute) ?? "") + content : content;
      scripts.set(absolute, whole.slice(0, MAX_CONTENT));
    }
  }
  return scripts;
}

function contentOfFiles(
  args: readonly string[],
  cwd: string | undefined,
  known: ContentOf,
): string | undefined {
  const contents = operandsOf(args)
    .slice(0, MAX_PARTS)
    .flatMap((path) => known(locate(path, cwd)) ?? []);
  return contents.length === 0 ? undefined : contents.join("");
}

/** The absolute path of the script that a shell runs, or of the program itself if it is started by its path. */
export function scriptRunBy({ name, program, args, cwd }: Invocation): string | undefined {
  if (name === "source" || name === ".") return locate(args[0] ?? "", cwd);
  if (parseShellArguments(name, args)?.kind === "file")
    return locate(args.find((word) => !/^[-+]/.test(word)) ?? "", cwd);
  return program.includes("/") ? locate(program, cwd) : undefined;
}

/** The files that a shell runs without naming them: `sh < run.sh`, `cat run.sh | sh`, `eval "$(cat run.sh)"`. */
export function scriptsReadByShell(invocation: Invocation): readonly string[] {
  const { name, args } = invocation;
  const shell = parseShellArguments(name, args);
  const isReader =
    shell?.kind === "input" ||
    (shell?.kind === "text" && shell.text.includes(UNKNOWN)) ||
    (name === "eval" && args.some((word) => word.includes(UNKNOWN))) ||
    ((name === "source" || name === ".") && isStandardInput(args[0]));
  return isReader ? inputFilesOf(invocation) : [];
}

/** The files that reach a program through its standard input or the substitutions in its arguments. */
export function inputFilesOf({ files, cwd, upstream }: Invocation): readonly string[] {
  const redirected = (from: Pick<Invocation, "files" | "cwd">): readonly string[] =>
    from.files.filter(({ operator }) => operator === "<").map(({ path }) => locate(path, from.cwd));
  const printed = FILE_PRINTERS.flatMap((name) => {
    const printer = upstream.find(name);
    if (printer === undefined) return [];
    const named = operandsOf(printer.args, /^-[nc]$/).map((path) => locate(path, printer.cwd));
    return [...named, ...redirected(printer)];
  });
  const bare = upstream.find(""); // `$(< run.sh)`
  return [...redirected({ files, cwd }), ...printed, ...(bare === undefined ? [] : redirected(bare))];
}
