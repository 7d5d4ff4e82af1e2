import { UNKNOWN } from "./scope.ts";

const SHELLS = new Set("sh bash dash zsh ksh ksh93 mksh ash rbash fish csh tcsh".split(" "));

/** Where a shell gets its commands from. */
export type ShellSource =
  | { readonly kind: "text"; readonly text: string; readonly positional: readonly string[] }
  | { readonly kind: "input" }
  | { readonly kind: "file" };

/** How a shell is called; undefined for any other program. */
export function readShellArguments(name: string, args: readonly string[]): ShellSource | undefined {
  if (!SHELLS.has(name)) return undefined;
  let isText = false;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (isText && word === "--") continue;
    if (word === "--" || word === "-" || !/^[-+]/.test(word)) {
      if (isText) return { kind: "text", text: word, positional: args.slice(at + 1) };
      return { kind: readsInput(word) ? "input" : "file" };
    }
    isText ||= /^-[a-zA-Z]*c[a-zA-Z]*$/.test(word);
    if (/^-[a-bd-zA-Z]*s[a-zA-Z]*$/.test(word)) return { kind: "input" };
    if (/^[-+][a-zA-Z]*[oO]$|^--(?:rcfile|init-file)$/.test(word)) at += 1;
  }
  return { kind: "input" };
}

/** Whether a script of this name is the standard input, or something like `<( )` that the text itself tells. */
export function readsInput(operand: string | undefined): boolean {
  return (
    operand === "-" || operand === "--" || operand === "/dev/stdin" || operand?.startsWith(UNKNOWN) === true
  );
}
