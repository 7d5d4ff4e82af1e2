import { subcommandOf } from "./commands/arguments.ts";
import type { Finding } from "./commands/classify-command.ts";
import type { HarmlessState } from "./commands/command-classes.ts";
import { writtenBy } from "./commands/written-files.ts";
import type { Invocation } from "./shell-reader/invocation.ts";

/** Whether the files of the project are now in the given state. */
export type FileProbe = (state: HarmlessState, signal: AbortSignal) => Promise<boolean>;

/** Programs that leave the working tree as it is. */
const QUIET_PROGRAMS = /^(?:cd|pwd|echo|printf|true|test|\[|ls|)$/;
const QUIET_GIT =
  /^(?:fetch|status|log|diff|show|branch|switch|checkout|reset|restore|clean|pull|rm|rev-parse)$/;

/** Drops findings about commands that lose nothing in the current state of the files. */
export async function dropHarmless(
  findings: readonly Finding[],
  invocations: readonly Invocation[],
  probe: FileProbe | undefined,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (probe === undefined || findings.every(({ harmlessIf }) => harmlessIf === undefined)) return findings;
  const isHarmless = async ({ harmlessIf }: Finding): Promise<boolean> =>
    harmlessIf !== undefined && keepsState(harmlessIf, invocations) && (await probe(harmlessIf, signal));
  const results = await Promise.all(findings.map(isHarmless));
  return findings.filter((_, at) => !results[at]);
}

/** Whether the state lasts until the program runs: no other part of the command may change it after the probe. */
function keepsState({ state }: HarmlessState, invocations: readonly Invocation[]): boolean {
  const written = invocations.flatMap(writtenBy);
  if (state !== "clean-tree") return !written.some((path) => /(?:^|\/)\.git(?:ignore|\/|$)/.test(path));
  return invocations.every(
    ({ name, args, files }) =>
      files.length === 0 &&
      (QUIET_PROGRAMS.test(name) || (name === "git" && QUIET_GIT.test(subcommandOf(args).verb))),
  );
}
