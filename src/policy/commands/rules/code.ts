import { type Invocation, nameOf } from "../../shell-reader/invocation.ts";
import { isStandardInput, parseShellArguments } from "../../shell-reader/programs/parse-shell-arguments.ts";
import { unwrapCommand } from "../../shell-reader/programs/unwrap-command.ts";
import { UNKNOWN } from "../../shell-reader/scope.ts";
import { hasOption, isUnknown } from "../arguments.ts";
import { codeSourceOf, findInterpreter } from "../code/interpreters.ts";
import type { Match } from "../command-classes.ts";
import { originOf } from "../fetched-files.ts";
import { sedExecution, sedScripts } from "../launched-texts.ts";
import { locate } from "../sensitive-paths.ts";
import type { ClassRule, RuleContext } from "./class-rule.ts";

const EFFECTS = {
  "remote-code": "runs code that it downloads",
  "decoded-code": "runs code that another program decodes or generates",
} as const;
/** Programs that print a file or a text of the command. A shell that reads their output runs no hidden code. */
const PLAIN_SOURCES = ["cat", "echo", "printf", "tee", "head", "tail"];

/** Running code that the command does not show. */
export const checkHiddenCode: ClassRule = (invocation, context) => {
  const { name, args, program, cwd } = invocation;
  const ran = program.includes("/") ? context.fetched.get(locate(program, cwd)) : undefined;
  if (ran) return match(ran);
  const shell = parseShellArguments(name, args);
  if (shell) {
    if (shell.kind === "input") return checkInput(invocation);
    if (shell.kind === "text") return checkText(shell.text, invocation, context);
    return checkFile(firstOperand(args), invocation, context);
  }
  if (name === "eval") return checkText(args.join(" "), invocation, context);
  if (name === "source" || name === ".")
    return isStandardInput(args[0]) ? checkInput(invocation) : checkFile(args[0] ?? "", invocation, context);
  if (/^(?:deno|npx|bunx|pnpx|uvx|pipx)$/.test(name) && args.some((word) => /^https?:/.test(word)))
    return match("remote-code");
  if (runsLines(invocation)) return match("decoded-code");
  const interpreter = findInterpreter(name);
  if (!interpreter) return undefined;
  const source = codeSourceOf(invocation.texts, interpreter);
  if (source.kind === "input") {
    const origin = originOf(invocation);
    return origin && match(origin);
  }
  if (source.kind === "text") return checkText(source.text, invocation, context);
  return source.kind === "file" ? checkFile(source.path, invocation, context) : undefined;
};

/** Whether a program other than a shell runs the lines of its input as commands. */
function runsLines({ name, args, texts, input }: Invocation): boolean {
  if (/^g?sed$/.test(name)) return sedScripts(texts).some((script) => sedExecution(script) !== undefined);
  if (input.length > 0) return false;
  if (/^[gmn]?awk$/.test(name))
    return texts.some((word) => /system\s*\(\s*\$\d*\s*\)|print[^"|]*\|\s*"(?:ba|da|z)?sh"/.test(word));
  const command = name === "xargs" ? unwrapCommand(name, args) : undefined;
  if (command?.kind !== "words") return false;
  const [shell = "", ...words] = command.words;
  const source = parseShellArguments(nameOf(shell), words);
  const isBare = source?.kind === "input" && words.some((word) => /^-\w*c$/.test(word));
  return isBare || (source?.kind === "text" && /^(?:\{\}|%|@|_)$/.test(source.text));
}

/** Running a program whose name the command does not show. */
export const checkUnknownProgram: ClassRule = ({ naming, args }) => {
  if (naming === "text") return undefined;
  const hides = naming === "computed" || (removesTree(args, naming === "pattern") && args.some(isOperand));
  return hides
    ? { class: "unknown-program", effect: "runs a program whose name is computed at run time" }
    : undefined;
};

/** Whether `rm` with these arguments would remove folders. Many programs have an option `-r`, but few have `-rf`. */
function removesTree(args: readonly string[], isDisguised: boolean): boolean {
  const isRecursive = hasOption(args, /^-[a-zA-Z]*[rR][a-zA-Z]*$|^--recursive$/);
  return isRecursive && (isDisguised || hasOption(args, /^-[a-zA-Z]*f[a-zA-Z]*$|^--force$/));
}

function isOperand(word: string): boolean {
  return !word.startsWith("-");
}

function checkInput(invocation: Invocation): Match | undefined {
  const { input, upstream } = invocation;
  const origin = originOf(invocation);
  if (origin) return match(origin);
  const isPlain = input.length > 0 || upstream.isEmpty || PLAIN_SOURCES.some((name) => upstream.find(name));
  return isPlain ? undefined : match("decoded-code");
}

function checkText(text: string, invocation: Invocation, context: RuleContext): Match | undefined {
  if (!hasUnknownProgram(text)) return undefined;
  const origin = originOf(invocation) ?? (context.fetches ? "remote-code" : undefined);
  return origin && match(origin);
}

/** Whether the name of the program is an unknown value. */
function hasUnknownProgram(text: string): boolean {
  return text
    .split(UNKNOWN)
    .slice(0, -1)
    .some(
      (before, index) =>
        (index === 0 && before.trim() === "") || /[;&|(\n]$/.test(before.trimEnd()) || before.endsWith("\n"),
    );
}

function checkFile(path: string, invocation: Invocation, { fetched }: RuleContext): Match | undefined {
  if (isUnknown(path)) {
    const origin = originOf(invocation);
    return origin && match(origin);
  }
  const kind = fetched.get(locate(path, invocation.cwd));
  return kind && match(kind);
}

function firstOperand(args: readonly string[]): string {
  return args.find((word) => !/^[-+]/.test(word)) ?? "";
}

function match(kind: "remote-code" | "decoded-code"): Match {
  return { class: kind, effect: EFFECTS[kind] };
}
