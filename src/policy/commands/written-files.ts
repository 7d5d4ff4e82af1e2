import type { Invocation } from "../shell-reader/invocation.ts";
import { hasOption, operandsOf, subcommandOf, valuesOfOption } from "./arguments.ts";

const COPIERS = new Set(["cp", "gcp", "mv", "install", "ln", "rsync", "scp", "ditto"]);
/** Programs that change or remove every operand. */
const CHANGERS = new Set(
  "tee sponge touch mkdir rm rmdir unlink shred srm truncate patch ed ex vi vim nvim nano emacs code chmod chown chgrp chattr setfacl".split(
    " ",
  ),
);
const COPY_OPTIONS = /^-(?:[mogSt]|e|-(?:mode|owner|group|suffix|target-directory|exclude|include|rsh))$/;

/** The paths that a program creates, changes or removes, as far as its arguments reveal it. */
export function writtenBy(invocation: Invocation): readonly string[] {
  const { name, args, files } = invocation;
  const redirected = files.filter(isWritten).map(({ path }) => path);
  return [...redirected, ...operandsWrittenBy(name, args)];
}

/** Whether a redirection writes a file: not `>&2`, `>&-` or `<&3`. */
export function isWritten({ operator, path }: { readonly operator: string; readonly path: string }): boolean {
  return operator.includes(">") && !(operator.endsWith("&") && /^\d*-?$/.test(path));
}

function operandsWrittenBy(name: string, args: readonly string[]): readonly string[] {
  if (CHANGERS.has(name))
    return operandsOf(args, name === "truncate" ? /^-[sr]$|^--(?:size|reference)$/ : undefined);
  if (COPIERS.has(name)) return copied(name, args);
  switch (name) {
    case "sed":
    case "gsed":
    case "perl":
    case "ruby":
      return [
        ...(hasOption(args, /^-[a-zA-Z0-9]*i|^--in-place/) ? operandsOf(args, /^-[ef]$/) : []),
        ...(/sed$/.test(name) ? filesIn(args, /(?:^|[;{}\d$/\s])[wW]\s+([^\n;}]+)/g) : []),
      ];
    case "awk":
    case "gawk":
    case "mawk":
      return [...(args.includes("inplace") ? operandsOf(args) : []), ...filesIn(args, />>?\s*"([^"]+)"/g)];
    case "yq":
      return hasOption(args, /^-[a-zA-Z]*i|^--inplace$/) ? operandsOf(args) : [];
    case "git": {
      const { verb, rest } = subcommandOf(args, /^-[cC]$|^--(?:git-dir|work-tree|namespace)$/);
      return verb === "mv" || verb === "rm" ? operandsOf(rest) : [];
    }
    case "dd":
      return args.filter((word) => word.startsWith("of=")).map((word) => word.slice(3));
    case "curl":
      return [...valuesOfOption(args, "o", "--output"), ...valuesOfOption(args, undefined, "--output-dir")];
    case "wget":
      return valuesOfOption(args, "O", "--output-document").concat(
        valuesOfOption(args, "P", "--directory-prefix"),
      );
    case "tar":
    case "bsdtar":
      return isExtraction(args) ? valuesOfOption(args, "C", "--directory") : [];
    case "unzip":
      return valuesOfOption(args, "d");
    case "sort":
    case "gcc":
    case "cc":
      return valuesOfOption(args, "o", "--output");
    case "openssl":
      return valuesOfOption(args, undefined, "-out");
    case "sqlite3":
    case "sqlite":
    case "litecli":
      return hasOption(args, /^--?(?:readonly|version|help)$/) ? [] : databasesOf(args);
    case "xxd":
      return hasOption(args, /^-[a-z]*r/) ? operandsOf(args, /^-[cglos]$/).slice(1) : [];
    case "find":
      return valuesOfOption(args, undefined, "-fprint", "-fprint0", "-fprintf", "-fls");
    case "ssh-keygen":
      return hasOption(args, /^-[lFHyB]/) ? [] : valuesOfOption(args, "f");
    default:
      return [];
  }
}

/** The files that scripts in the arguments write; `pattern` captures their names. */
function filesIn(args: readonly string[], pattern: RegExp): readonly string[] {
  return args
    .filter((word) => /\s|[{;"]/.test(word) && word.length <= MAX_SCRIPT)
    .flatMap((word) => Array.from(word.matchAll(pattern), ([, path = ""]) => path.trim()));
}

const MAX_SCRIPT = 2_000;

/** The file that sqlite3 opens, and the files that its commands open. */
function databasesOf(args: readonly string[]): readonly string[] {
  const [file, ...commands] = operandsOf(args, /^-(?:cmd|init|separator|newline|nullvalue|vfs)$/);
  if (commands.length > 0 && !hasOption(args, /^-(?:cmd|init)$/) && commands.every(isQuery)) return [];
  const opened = filesIn(
    [...commands, ...valuesOfOption(args, undefined, "-cmd")],
    /(?:^|\s)(?:\.open\s+(?:-\S+\s+)*|attach\s+(?:database\s+)?)['"]?([^'"\s;]+)/gi,
  );
  return [...(file === undefined || file === ":memory:" ? [] : [file]), ...opened];
}

/** Whether a command of sqlite3 only reads: one SELECT without functions that write, or a command that describes the database. */
function isQuery(command: string): boolean {
  if (command.length > MAX_SCRIPT) return false; // the patterns take quadratic time
  return /^\s*(?:select|explain)\b[^;]*;?\s*$/i.test(command.replace(/'[^']*'/g, "''"))
    ? !/writefile|load_extension|edit\s*\(/i.test(command)
    : /^\s*\.(?:tables|schema|indexes|databases|fullschema|dbinfo|mode|headers?)(?:\s+[\w%.*]+)?\s*$/.test(
        command,
      );
}

/** The target of a copy or move, and the source of a move. */
function copied(name: string, args: readonly string[]): readonly string[] {
  const targets = valuesOfOption(
    args,
    name === "rsync" || name === "scp" ? undefined : "t",
    "--target-directory",
  );
  const operands = operandsOf(args, COPY_OPTIONS);
  if (name === "install" && hasOption(args, /^-d$|^--directory$/)) return operands;
  const last = operands.length > 1 && targets.length === 0 ? [operands.at(-1) ?? ""] : targets;
  const written = last.filter((path) => !/^[^/]+:/.test(path) || !(name === "scp" || name === "rsync"));
  // `cp a ~/b/` writes `~/b/a`.
  const named = written.flatMap((path) =>
    path.endsWith("/") || path === "." || path === "~"
      ? operands.slice(0, -1).map((from) => `${path}/${from.split("/").at(-1) ?? ""}`)
      : [path],
  );
  return name === "mv" ? [...named, ...operands.slice(0, -1)] : named;
}

function isExtraction(args: readonly string[]): boolean {
  return /^-?[a-zA-Z]*x/.test(args[0] ?? "") || hasOption(args, /^-[a-zA-Z]*x|^--(?:extract|get)$/);
}
