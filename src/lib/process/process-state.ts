import { errnoOf } from "../errors.ts";
import { parseProcStat, readProc } from "./proc.ts";
import { runProcess } from "./process.ts";

/** State of a pid: running, absent (a zombie counts as absent), or hidden from us. */
export type ProcessState = { readonly startTime: string } | "absent" | "hidden";

/** Reads the state of a pid from the process table of this machine. */
export async function readProcessState(pid: number, signal: AbortSignal): Promise<ProcessState> {
  const row =
    process.platform === "linux"
      ? parseProcStat(await readProc(pid, "stat"))
      : await readProcessFromPs(pid, signal);
  if (row !== undefined) return row.ended ? "absent" : { startTime: row.startTime };
  return exists(pid) ? "hidden" : "absent"; // /proc may be mounted with hidepid, which hides processes of other users
}

interface ProcessRow {
  readonly startTime: string;
  readonly ended: boolean;
}

/** For systems without /proc. One `-o` per column, because BSD takes the rest of the argument as a heading. */
export async function readProcessFromPs(pid: number, signal: AbortSignal): Promise<ProcessRow | undefined> {
  const env = { LC_ALL: "C", TZ: "UTC" }; // ps prints a localised local time, so a change of time zone would change the text
  const argv = ["/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", String(pid)] as const;
  const { stdout } = await runProcess(argv, { env }, signal); // prints nothing when the process does not exist
  const [, state, startTime] = /^\s*(\S+)\s+(.*\S)\s*$/.exec(stdout) ?? [];
  if (state === undefined || startTime === undefined) return undefined;
  return { startTime, ended: state.startsWith("Z") };
}

/** The arguments that a process on this machine was started with; empty when it does not exist or is hidden. */
export async function readCommandLine(pid: number, signal: AbortSignal): Promise<readonly string[]> {
  if (process.platform === "linux") {
    const text = await readProc(pid, "cmdline");
    return text.split("\0").filter((word) => word !== "");
  }
  const { stdout } = await runProcess(
    ["/bin/ps", "-ww", "-o", "args=", "-p", String(pid)],
    { env: {} },
    signal,
  );
  return stdout.trim().split(/\s+/);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0); // signal 0 only checks
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}
