import type { Invocation } from "../shell-reader/invocation.ts";
import { parseShellArguments } from "../shell-reader/programs/parse-shell-arguments.ts";
import type { CommandReading } from "../shell-reader/read-command.ts";
import { UNKNOWN } from "../shell-reader/scope.ts";
import { classifyCommand } from "./classify-command.ts";
import type { CommandFacts } from "./command-classes.ts";
import { isHarmlessProgram } from "./read-only-programs.ts";
import { isWritten, writtenBy } from "./written-files.ts";

const SINKS = /^\/dev\/(?:null|stdout|stderr|tty)$/;
/** Variables that make a program load or start other programs. */
const STEERING_VARIABLES =
  /^(?:PATH|ENV|IFS|PS[0-4]|HOME|SHELL|SHELLOPTS|BASH_.*|BASHOPTS|PROMPT_COMMAND|CDPATH|LD_.*|DYLD_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|LESS.*|GIT_.*|SSH_.*|NODE_.*|NPM_.*|npm_.*|PYTHON.*|PERL.*|RUBY.*|JAVA_.*|RIPGREP_.*|GREP_.*|TAR_OPTIONS|MAKEFLAGS|DOCKER_.*|KUBE.*|HELM_.*|MAN.*|GOFLAGS|GO.*|CARGO_.*|RUST.*|XDG_.*|PIP_.*|BAT_.*|YQ_.*|MAGIC|HISTFILE|LOCPATH|GCONV_PATH)$/;
const HARMLESS_SETTINGS = new Set(["NODE_ENV", "GIT_OPTIONAL_LOCKS"]);
/** Builtins that run a text. If the text is known, the reading contains its programs. */
const TEXT_RUNNERS = new Set(["eval"]);
/** Builtins that get names of variables. A name may have a subscript, in which the shell runs substitutions. */
const DECLARERS = new Set(["declare", "typeset", "local", "export", "readonly"]);
const NAME_TAKERS = new Set([...DECLARERS, "printf", "read", "test", "[", "unset", "wait", "getopts"]);

/**
 * Whether every program of a command is known to change nothing, on this machine or elsewhere. Unknown programs count as
 * changing something.
 */
export function isReadOnly(reading: CommandReading, facts: CommandFacts): boolean {
  if (reading.invocations.length === 0)
    return reading.variables.size === 0 && reading.functions.length === 0 && !reading.evaluates;
  for (const name of reading.variables.keys()) if (isSteering(name)) return false;
  if (reading.evaluates) return false;
  if (!reading.invocations.every(isHarmless)) return false;
  // Reading a private key changes nothing, but needs an answer.
  return classifyCommand(reading, facts).length === 0;
}

function isSteering(variable: string): boolean {
  return STEERING_VARIABLES.test(variable) && !HARMLESS_SETTINGS.has(variable);
}

function isHarmless(invocation: Invocation): boolean {
  const { name, program, args, texts, files, remote, isCut } = invocation;
  if (remote || isCut || !files.every(isHarmlessFile)) return false;
  if (name === "") return args.length === 0;
  if (writtenBy(invocation).some((path) => !SINKS.test(path) && path !== "")) return false;
  // A program that is started by its path may be any program under a harmless name.
  if (program.includes("/") && !/^\/(?:usr\/)?(?:local\/)?bin\/[^/]+$/.test(program)) return false;
  // `name` is lower-cased and without unknown parts. The program as written must not differ from it.
  if (program.split("/").at(-1) !== name) return false;
  if (name === "env" && args.some((word) => isSteering(word.split("=")[0] ?? ""))) return false;
  const shell = parseShellArguments(name, args);
  if (shell)
    return (
      shell.kind === "text" &&
      !shell.text.includes(UNKNOWN) &&
      args.every((word) => !/^--(?:rcfile|init-file)|^-[a-zA-Z]*[il]/.test(word))
    );
  if (TEXT_RUNNERS.has(name)) return !args.some((word) => word.includes(UNKNOWN));
  if (NAME_TAKERS.has(name) && !takesPlainNames(name, texts)) return false;
  if (name === "export" || name === "declare" || name === "readonly") return true;
  return isHarmlessProgram(name, args);
}

/** Whether the arguments of a builtin are plain: none is a name with a subscript or a value that the shell evaluates again. */
function takesPlainNames(name: string, args: readonly string[]): boolean {
  if (name === "printf") {
    const at = args.findIndex((word) => word.startsWith("-v"));
    return at !== 0 || /^(?:-v)?\w+$/.test((args[0] === "-v" ? args[1] : args[0]) ?? "");
  }
  if (name === "test" || name === "[")
    return args.every((word, at) => !/^-[vR]$/.test(word) || /^\w+$/.test(args[at + 1] ?? ""));
  if (DECLARERS.has(name) && args.some((word) => /^[-+][a-zA-Z]*[inaA]/.test(word))) return false;
  return args.every((word) => {
    const [target = ""] = word.split("=", 1);
    return !/[[`(]/.test(target) && !word.startsWith(UNKNOWN) && !(DECLARERS.has(name) && /=\(/.test(word));
  });
}

function isHarmlessFile(file: { readonly operator: string; readonly path: string }): boolean {
  if (/^\/dev\/(?:tcp|udp)\//.test(file.path)) return false;
  return !isWritten(file) || SINKS.test(file.path);
}
