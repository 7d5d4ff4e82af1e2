type Meanings = readonly (readonly [command: RegExp, codes: Readonly<Record<number, string>>])[];

/** Non-zero exit codes that are answers, not failures, by the start of the command. */
const ANSWERS: Meanings = [
  [/^(?:[ef]?grep|zgrep|rg|ag|ack|pgrep|pidof|git grep)(?: |$)/, { 1: "no matches" }],
  [/^(?:diff|colordiff|cmp|git diff)(?: |$)/, { 1: "the files differ" }],
  [/^find(?: |$)/, { 1: "some folders could not be read; the results are partial" }],
  [/^(?:test|\[|\[\[)(?: |$)/, { 1: "the condition is false" }],
  [/^(?:which|type|command -[vV]|git config --get)(?: |$)/, { 1: "not found" }],
  [/^git merge-base --is-ancestor /, { 1: "not an ancestor" }],
  [/^git check-ignore(?: |$)/, { 1: "none is ignored" }],
  [
    /^systemctl (?:--user )?(?:is-active|is-enabled|status) /,
    { 1: "not active or not enabled", 3: "not running" },
  ],
];

const FAILURES: Meanings = [
  [/^git /, { 1: "often normal" }],
  [
    /^curl /,
    {
      6: "host not found",
      7: "connection refused",
      22: "the server answered with an error",
      28: "timed out",
    },
  ],
];

const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  6: "SIGABRT",
  9: "SIGKILL, often because memory ran out",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

export interface ExitMeaning {
  readonly words: string;
  /** Whether the command succeeded and its exit code is an answer, such as "no". */
  readonly isAnswer: boolean;
}

/** The meaning of an exit code for the last program of a command line; undefined if it has no special meaning. */
export function findExitMeaning(command: string, exitCode: number): ExitMeaning | undefined {
  if (exitCode === 0) return undefined;
  const last = lastCommand(command);
  const find = (meanings: Meanings) => meanings.find(([begin]) => begin.test(last))?.[1][exitCode];
  const answer = find(ANSWERS);
  if (answer !== undefined) return { words: answer, isAnswer: true };
  const words = find(FAILURES) ?? GENERAL[exitCode] ?? describeSignal(exitCode);
  return words === undefined ? undefined : { words, isAnswer: false };
}

const GENERAL: Readonly<Record<number, string>> = {
  126: "the file cannot be executed",
  127: "command not found",
};

function describeSignal(exitCode: number): string | undefined {
  const signal = SIGNALS[exitCode - 128];
  return signal === undefined ? undefined : `ended by ${signal}`;
}

/** The command that set the exit code, without assignments, wrappers such as sudo, and the folder of its program. */
function lastCommand(command: string): string {
  const parts = command.split(/\|\||&&|[;|\n]/).map((part) => part.trim());
  // A chain that failed did not reach the echo at its end.
  const last = parts.findLast((part) => part !== "" && !/^(?:echo|printf)\b/.test(part)) ?? "";
  const bare = last.replace(/^(?:!\s+|[A-Za-z_]\w*=\S*\s+|(?:sudo|time|timeout\s+\S+)\s+)*/, "");
  return bare.replace(/^\S*\//, "").replace(/\s+/g, " ");
}
