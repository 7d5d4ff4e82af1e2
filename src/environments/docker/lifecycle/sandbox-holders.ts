import { basename } from "node:path";
import { readCommandLine } from "../../../lib/process/process-state.ts";
import { formatCommandLine } from "../../jobs/job-command.ts";
import type { SandboxHolder } from "../isolation/sandbox-processes.ts";
import { formatMinute } from "../reclaim/keep-rules.ts";

/** A process that holds a sandbox, in printable form. */
export interface HolderDescription {
  /** Null when the process cannot be identified from its shell in the sandbox. */
  readonly pid: number | null;
  /** The command line; null when the process does not run on this machine. */
  readonly command: string | null;
  readonly since: string;
}

const PROGRAM = /^(hermes|main\.cjs)$/;

/** Looks up the command lines of the processes that have a shell in a sandbox. */
export async function describeHolders(
  holders: readonly SandboxHolder[],
  signal: AbortSignal,
): Promise<readonly HolderDescription[]> {
  const seen = holders.map(async ({ pid, since }) => {
    const words = pid === undefined ? [] : await readCommandLine(pid, signal);
    const program = words.findIndex((word) => PROGRAM.test(basename(word)));
    // If the pid belongs to another program here, the holder runs on another machine.
    const command = program === -1 ? null : ["hermes", ...words.slice(program + 1)].join(" ");
    return { pid: pid ?? null, command, since: new Date(since).toISOString() };
  });
  return Promise.all(seen);
}

/** Formats the holders for the sentence "is in use by …". */
export function formatHolders(holders: readonly HolderDescription[]): string {
  if (holders.length === 0) return "by another process";
  return `by ${holders.map(showHolder).join(" and ")}`;
}

function showHolder({ pid, command, since }: HolderDescription): string {
  const shownCommand = command === null ? "" : ` (${formatCommandLine(command)})`;
  return `${pid === null ? "another process" : `process ${pid}`}${shownCommand} since ${formatMinute(Date.parse(since))}`;
}
