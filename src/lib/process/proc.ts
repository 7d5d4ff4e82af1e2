import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { errnoOf } from "../errors.ts";
import { listNames } from "../files/unless-missing.ts";

/** Fields of /proc/PID/stat, see proc_pid_stat(5). */
export interface ProcStat {
  readonly ended: boolean;
  readonly parent: number;
  readonly group: number;
  readonly startTime: string;
}

/** Parses /proc/PID/stat; undefined for any other text. The second field, the program name, may contain spaces and parentheses. */
export function parseProcStat(stat: string): ProcStat | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  const startTime = fields[19];
  if (state === undefined || startTime === undefined) return undefined;
  return { ended: /^[ZX]/.test(state), parent: Number(parent), group: Number(group), startTime };
}

/** Lists the pids of the visible processes; empty without /proc. */
export async function listPids(): Promise<number[]> {
  return filterPids(await listNames("/proc"));
}

export function filterPids(names: readonly string[]): number[] {
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Reads a file of a process; empty when the process has exited or belongs to another user. */
export async function readProc(pid: number, file: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    return emptyIfUnreadable(error);
  }
}

/** The synchronous `readProc`. */
export function readProcNow(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (error) {
    return emptyIfUnreadable(error);
  }
}

function emptyIfUnreadable(error: unknown): string {
  if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return "";
  throw error;
}

/** The value of a variable in the text of /proc/PID/environ, the environment that the process was started with. */
export function findVariable(environ: string, name: string): string | undefined {
  const start = environ.startsWith(`${name}=`) ? 0 : environ.indexOf(`\0${name}=`) + 1;
  if (start === 0 && !environ.startsWith(`${name}=`)) return undefined;
  const end = environ.indexOf("\0", start);
  return environ.slice(start + name.length + 1, end === -1 ? undefined : end);
}
