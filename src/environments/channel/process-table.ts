/** One process of the place a command runs in, as its own process table shows it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since boot; with the pid it names a process for good. */
  readonly startTime: string;
  readonly isZombie: boolean;
  /** Undefined where it cannot be seen. */
  readonly user: number | undefined;
  /** Carries the mark of the command in its environment. */
  readonly isMarked: boolean;
}

/** A process for good: pids are used again, a pid with its start time is not. The time is empty where there is no table. */
export interface StartedProcess {
  readonly pid: number;
  readonly startTime: string;
}

/** Reads the fields that the driver prints for a process; undefined for a row that is not whole. */
export function parseProcessRow(fields: string): ProcessRow | undefined {
  const [pid, parent, group, session, startTime, state, user, marked] = fields.split(" ");
  if (startTime === undefined || state === undefined || !/^\d+$/.test(pid ?? "")) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime,
    isZombie: state === "Z" || state === "X",
    user: user === undefined || user === "?" ? undefined : Number(user),
    isMarked: marked === "1",
  };
}

/**
 * The processes that belong to a command: its group and session, its descendants, whatever carries its mark, and what
 * was known to belong to it before its parents died. Each sign alone can be shaken off (setsid, env -i, a double fork).
 */
export function findTree(
  rows: readonly ProcessRow[],
  started: StartedProcess | undefined,
  known: readonly ProcessRow[],
): ProcessRow[] {
  const before = new Set(known.map(identity));
  const isRoot = (row: ProcessRow): boolean =>
    row.pid === started?.pid && row.startTime === started.startTime;
  // Once the root is gone its number may be somebody else's, and so may a group or session of that number.
  const root = rows.some(isRoot) ? started?.pid : undefined;
  const tree = new Map<number, ProcessRow>();
  let grown = true;
  while (grown) {
    grown = false;
    for (const row of rows) {
      if (tree.has(row.pid)) continue;
      const related = row.pid === root || row.group === root || row.session === root || tree.has(row.parent);
      if (related || row.isMarked || tree.has(row.group) || before.has(identity(row))) {
        tree.set(row.pid, row);
        grown = true;
      }
    }
  }
  return [...tree.values()].filter((row) => !row.isZombie);
}

export function identity({ pid, startTime }: ProcessRow): string {
  return `${pid}@${startTime}`;
}
