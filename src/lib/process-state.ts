import { readFile } from "node:fs/promises";
import { errnoOf } from "./errors.ts";
import { runProcess } from "./process.ts";

/** What can be seen of a pid: it runs, nobody has it (a zombie counts as nobody), or it is hidden from us. */
export type ProcessState = { readonly startTime: string } | "absent" | "hidden";

/** Looks a pid up in the process table of this machine. */
export async function readProcessState(pid: number, signal: AbortSignal): Promise<ProcessState> {
  const seen = process.platform === "linux" ? await readFromProc(pid) : await readFromPs(pid, signal);
  if (seen !== undefined) return seen.ended ? "absent" : { startTime: seen.startTime };
  return exists(pid) ? "hidden" : "absent"; // /proc can be mounted so that it shows only one's own processes
}

interface Seen {
  readonly startTime: string;
  readonly ended: boolean;
}

async function readFromProc(pid: number): Promise<Seen | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
  return parseProcStat(stat);
}

/** Reads fields 3 and 22 of proc_pid_stat(5); the name before them may itself contain spaces and parentheses. */
export function parseProcStat(stat: string): Seen | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const startTime = fields[19];
  if (state === undefined || startTime === undefined) return undefined;
  return { startTime, ended: state === "Z" || state === "X" };
}

/** For systems without /proc. One `-o` per column, because BSD takes the rest of the argument as a heading. */
export async function readFromPs(pid: number, signal: AbortSignal): Promise<Seen | undefined> {
  const env = { LC_ALL: "C", TZ: "UTC" }; // the start is local time in local words: a journey would change it
  const argv = ["/bin/ps", "-o", "stat=", "-o", "lstart=", "-p", String(pid)] as const;
  const { stdout } = await runProcess(argv, { env }, signal); // prints nothing when there is no such process
  const [, state, startTime] = /^\s*(\S+)\s+(.*\S)\s*$/.exec(stdout) ?? [];
  if (state === undefined || startTime === undefined) return undefined;
  return { startTime, ended: state.startsWith("Z") };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0); // signal 0 only asks
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}
