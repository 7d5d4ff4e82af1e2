import { readdir, readFile } from "node:fs/promises";
import { errnoOf } from "../../lib/errors.ts";
import { findRunGroups, pidsIn } from "./run-cgroup.ts";
import { RUN_MARK, SUPERVISOR_MARK } from "./run-mark.ts";

export interface FoundProcess {
  readonly pid: number;
  readonly group: number;
  readonly startTime: string;
  /** The value of the variable; undefined for one that was found by its group or its parent. */
  readonly mark: string | undefined;
}

/** Which processes are looked for. */
export interface ProcessQuery {
  readonly variable: string;
  /** The beginning of its value. */
  readonly mark: string;
  /**
   * A process group whose members count whatever their environment says. Asked anew each time, because its number may be
   * another's once its leader was reaped.
   */
  readonly group?: (() => number | undefined) | undefined;
  /**
   * Whether what they have started counts too, also with an emptied environment, and what is in their groups of the
   * kernel; supervisors are on their own.
   */
  readonly withDescendants?: boolean;
}

/** The processes of the runs whose marks begin so, with all that they have started. */
export function runProcesses(mark: string): ProcessQuery {
  return { variable: RUN_MARK, mark, withDescendants: true };
}

interface Row extends FoundProcess {
  readonly parent: number;
  readonly supervises: boolean;
}

/**
 * The living processes with such a variable in the environment they were started with, which no process can take back,
 * and those that `known` has by pid and start. Where there is no /proc, nothing is found.
 */
export async function findProcesses(
  { variable, mark, group, withDescendants = false }: ProcessQuery,
  known: ReadonlyMap<number, string> = new Map(),
): Promise<readonly FoundProcess[]> {
  const rows = (await Promise.all((await listPids()).map((pid) => readRow(pid, `${variable}=`)))).filter(
    (row) => row !== undefined,
  );
  const leader = group?.();
  const found = new Map<number, Row>();
  const groups = withDescendants ? await findRunGroups(mark) : [];
  const inGroups = new Set((await Promise.all(groups.map(pidsIn))).flat());
  for (const row of rows) {
    const isSeen =
      row.mark?.startsWith(mark) ||
      row.group === leader ||
      (inGroups.has(row.pid) && !row.supervises) ||
      known.get(row.pid) === row.startTime;
    if (isSeen) found.set(row.pid, row);
  }
  for (let isMore = withDescendants; isMore; ) {
    const children = rows.filter((row) => !row.supervises && found.has(row.parent) && !found.has(row.pid));
    for (const row of children) found.set(row.pid, row);
    isMore = children.length > 0;
  }
  found.delete(process.pid);
  return [...found.values()];
}

async function listPids(): Promise<readonly number[]> {
  if (process.platform !== "linux") return [];
  return (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Undefined for a process that has ended. */
async function readRow(pid: number, assignment: string): Promise<Row | undefined> {
  const [stat, environment] = await Promise.all([read(pid, "stat"), read(pid, "environ")]);
  // The second field is the program's name, which may hold blanks and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group] = fields;
  if (state === "" || /^[ZX]/.test(state)) return undefined;
  const entries = environment.split("\0");
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    startTime: fields[19] ?? "",
    mark: entries.find((entry) => entry.startsWith(assignment))?.slice(assignment.length),
    supervises: entries.some((entry) => entry.startsWith(`${SUPERVISOR_MARK}=`)),
  };
}

/** Empty for a process that has ended meanwhile, or that is someone else's. */
async function read(pid: number, file: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${file}`, "latin1");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return "";
    throw error;
  }
}
