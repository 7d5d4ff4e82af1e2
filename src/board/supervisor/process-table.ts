import { setImmediate as turn } from "node:timers/promises";
import { findVariable, listPids, parseProcStat, readProcNow } from "../../lib/process/proc.ts";
import { RUN_MARK, SUPERVISOR_MARK } from "../worker/run-mark.ts";
import { findRunGroups, pidsIn } from "./run-cgroup.ts";

export interface FoundProcess {
  readonly pid: number;
  readonly group: number;
  readonly startTime: string;
  /** The value of the variable; undefined for a process that was found by its group or its parent. */
  readonly mark: string | undefined;
}

/** Selects processes. */
export interface ProcessQuery {
  readonly variable: string;
  /** A prefix of the variable's value. */
  readonly mark: string;
  /** A group whose members match in any environment. A function, because the id may be reused after the leader was reaped. */
  readonly group?: (() => number | undefined) | undefined;
  /** Whether descendants, even with an emptied environment, and members of the run's cgroups match; supervisors never do. */
  readonly withDescendants?: boolean;
}

/** The processes of the runs whose marks have this prefix, with their descendants. */
export function runProcesses(mark: string): ProcessQuery {
  return { variable: RUN_MARK, mark, withDescendants: true };
}

interface Row extends FoundProcess {
  readonly parent: number;
  readonly supervises: boolean;
}

/** The live processes that match the query, by the environment they were started with, or that `known` lists; needs /proc. */
export async function findProcesses(
  { variable, mark, group, withDescendants = false }: ProcessQuery,
  known: ReadonlyMap<number, string> = new Map(),
): Promise<readonly FoundProcess[]> {
  const rows = await readRows(variable);
  const leader = group?.();
  const found = new Map<number, Row>();
  const groups = withDescendants ? await findRunGroups(mark) : [];
  const inGroups = new Set((await Promise.all(groups.map(pidsIn))).flat());
  for (const row of rows) {
    const isMatch =
      row.mark?.startsWith(mark) ||
      row.group === leader ||
      (inGroups.has(row.pid) && !row.supervises) ||
      known.get(row.pid) === row.startTime;
    if (isMatch) found.set(row.pid, row);
  }
  for (let isMore = withDescendants; isMore; ) {
    const children = rows.filter((row) => !row.supervises && found.has(row.parent) && !found.has(row.pid));
    for (const row of children) found.set(row.pid, row);
    isMore = children.length > 0;
  }
  found.delete(process.pid);
  return [...found.values()];
}

/** Processes read between two turns of the event loop. */
const ROWS_PER_TURN = 100;

/** Reads synchronously, because asynchronous reads of such short files take several times the CPU. */
async function readRows(variable: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const [index, pid] of (await listPids()).entries()) {
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await turn();
    const row = readRow(pid, variable);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** Undefined for a process that has exited. */
function readRow(pid: number, variable: string): Row | undefined {
  const stat = parseProcStat(readProcNow(pid, "stat"));
  if (stat === undefined || stat.ended) return undefined;
  const environ = readProcNow(pid, "environ");
  const mark = findVariable(environ, variable);
  return { pid, ...stat, mark, supervises: findVariable(environ, SUPERVISOR_MARK) !== undefined };
}
