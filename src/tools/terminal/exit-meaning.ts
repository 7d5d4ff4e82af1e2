/** Exit codes that look like failures and are answers, by program. */
const MEANINGS: readonly (readonly [programs: RegExp, codes: Readonly<Record<number, string>>])[] = [
  [/^(?:[ef]?grep|rg|ag|ack)$/, { 1: "no matches" }],
  [/^(?:diff|colordiff|cmp)$/, { 1: "the files differ" }],
  [/^find$/, { 1: "some folders could not be read; the results are partial" }],
  [/^(?:test|\[|\[\[)$/, { 1: "the condition is false" }],
  [/^git$/, { 1: "often normal: git diff --exit-code, git grep without matches" }],
  [
    /^curl$/,
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
  9: "SIGKILL, often for want of memory",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

/** What an exit code says about the last program of a command line; undefined where it says nothing special. */
export function exitMeaning(command: string, exitCode: number): string | undefined {
  if (exitCode === 0) return undefined;
  const last = command.split(/\|\||&&|[;|\n]/).findLast((part) => part.trim() !== "") ?? "";
  const words = last.trim().split(/\s+/);
  const program =
    words
      .find((word) => !/^[A-Za-z_]\w*=/.test(word))
      ?.split("/")
      .at(-1) ?? "";
  const known = MEANINGS.find(([programs]) => programs.test(program))?.[1][exitCode];
  if (known !== undefined) return known;
  if (exitCode === 127) return "command not found";
  if (exitCode === 126) return "the file cannot be executed";
  const signal = exitCode > 128 ? SIGNALS[exitCode - 128] : undefined;
  return signal === undefined ? undefined : `ended by ${signal}`;
}
