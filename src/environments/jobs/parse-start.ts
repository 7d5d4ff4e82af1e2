import type { CommandResult } from "../environment.ts";
import type { JobInput } from "./job.ts";
import type { RunningJob } from "./job-store.ts";

/** Parses the output of the start program; undefined unless the job runs. */
export function parseStart(stdout: string): RunningJob | undefined {
  const [, input] = /^input (none|pipe|terminal)$/m.exec(stdout) ?? [];
  const [, pid, startTime, keeperPid, keeperStartTime, bootId] =
    /^(\d+) (\d+) (\d+) (\d+) (\S+)$/m.exec(stdout) ?? [];
  const [, folder, cwd] = /^(\/.*\/proc_[0-9a-f]{12})\n(\/.*)\n$/ms.exec(stdout) ?? [];
  if (startTime === undefined || keeperStartTime === undefined || bootId === undefined) return undefined;
  if (folder === undefined || cwd === undefined || input === undefined) return undefined;
  return {
    process: { bootId, pid: Number(pid), startTime, keeperPid: Number(keeperPid), keeperStartTime },
    input: input as JobInput,
    folder,
    cwd,
  };
}

/** Why the job was not started. */
export function formatStartFailure(stdout: string, { badWorkdir, exitCode }: CommandResult): string {
  if (badWorkdir) return "the folder does not exist";
  return /^failed (.*)/s.exec(stdout)?.[1]?.trim() || `the shell ended with exit code ${exitCode}`;
}
