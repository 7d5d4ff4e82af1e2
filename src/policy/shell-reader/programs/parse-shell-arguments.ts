import { UNKNOWN } from "../scope.ts";

const SHELLS = new Set("sh bash dash zsh ksh ksh93 mksh ash rbash fish csh tcsh".split(" "));

/** The source of a shell's commands. */
export type ShellSource =
  | { readonly kind: "text"; readonly text: string; readonly positional: readonly string[] }
  | { readonly kind: "input" }
  | { readonly kind: "file" };

/** Determines where a shell reads its commands from; undefined if `name` is not a shell. */
export function parseShellArguments(name: string, args: readonly string[]): ShellSource | undefined {
  if (!SHELLS.has(name)) return undefined;
  let isText = false;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (isText && word === "--") continue;
    if (word === "--" || word === "-" || !/^[-+]/.test(word)) {
      if (isText) return { kind: "text", text: word, positional: args.slice(at + 1) };
      return { kind: isStandardInput(word) ? "input" : "file" };
    }
    isText ||= /^-[a-zA-Z]*c[a-zA-Z]*$/.test(word);
    if (/^-[a-bd-zA-Z]*s[a-zA-Z]*$/.test(word)) return { kind: "input" };
    if (/^[-+][a-zA-Z]*[oO]$|^--(?:rcfile|init-file)$/.test(word)) at += 1;
  }
  return { kind: "input" };
}

/** Whether a script operand is standard input or a process substitution, whose text may be known. */
export function isStandardInput(operand: string | undefined): boolean {
  return (
    operand === "-" ||
    operand === "--" ||
    operand === "/dev/stdin" ||
    operand?.startsWith(UNKNOWN) === true ||
    /^\/(?:dev|proc\/self)\/fd\/\d+$/.test(operand ?? "")
  );
}
