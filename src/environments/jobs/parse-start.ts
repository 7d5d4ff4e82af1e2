import type { CommandResult } from "../environment.ts";
import type { JobInput } from "./job.ts";
import type { RunningJob } from "./job-store.ts";

/** What the start program printed; undefined unless the job runs. */
export function parseStart(said: string): RunningJob | undefined {
  const [, input] = /^input (none|pipe|terminal)$/m.exec(said) ?? [];
  const [, pid, startTime, keeperPid, keeperStartTime, bootId] =
    /^(\d+) (\d+) (\d+) (\d+) (\S+)$/m.exec(said) ?? [];
  const [, folder, cwd] = /^(\/.*\/proc_[0-9a-f]{12})\n(\/.*)\n$/ms.exec(said) ?? [];
  if (startTime === undefined || keeperStartTime === undefined || bootId === undefined) return undefined;
  if (folder === undefined || cwd === undefined || input === undefined) return undefined;
  return {
    process: { bootId, pid: Number(pid), startTime, keeperPid: Number(keeperPid), keeperStartTime },
    input: input as JobInput,
    folder,
    cwd,
  };
}

/** Why it does not. */
export function failureOf(said: string, { badWorkdir, exitCode }: CommandResult): string {
  if (badWorkdir) return "the folder does not exist";
  return /^failed (.*)/s.exec(said)?.[1]?.trim() || `the shell ended with exit code ${exitCode}`;
}
