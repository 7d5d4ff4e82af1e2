/** One process in the process table of an environment. */
export type ProcessRow = Readonly<NonNullable<ReturnType<typeof parseProcessRow>>>;

/** Identifies a process: pids are reused, but not with the same start time. The time is empty without a process table. */
export interface StartedProcess {
  readonly pid: number;
  readonly startTime: string;
}

/** Parses the fields that the driver prints for a process; undefined for an incomplete row. */
export function parseProcessRow(fields: string) {
  const [pid, parent, group, session, startTime, state, user, marked] = fields.split(" ");
  if (startTime === undefined || state === undefined || !/^\d+$/.test(pid ?? "")) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    /** Clock ticks since boot; identifies a process together with the pid. */
    startTime,
    isZombie: state === "Z" || state === "X",
    /** Undefined if the user is not visible. */
    user: user === undefined || user === "?" ? undefined : Number(user),
    /** Whether its environment variables contain the mark of the command. */
    isMarked: marked === "1",
  };
}

/**
 * The processes of a command: its group and session, its descendants, processes with its mark, and processes that belonged
 * to it in an earlier poll. A process can evade each single criterion (setsid, env -i, a double fork).
 */
export function findTree(
  rows: readonly ProcessRow[],
  started: StartedProcess | undefined,
  known: readonly ProcessRow[],
): ProcessRow[] {
  const before = new Set(known.map(processKey));
  const isRoot = (row: ProcessRow): boolean =>
    row.pid === started?.pid && row.startTime === started.startTime;
  // After the root has exited, its pid may be reused, also as the id of a group or session.
  const root = rows.some(isRoot) ? started?.pid : undefined;
  const tree = new Map<number, ProcessRow>();
  let grown = true;
  while (grown) {
    grown = false;
    for (const row of rows) {
      if (tree.has(row.pid)) continue;
      const related = row.pid === root || row.group === root || row.session === root || tree.has(row.parent);
      if (related || row.isMarked || tree.has(row.group) || before.has(processKey(row))) {
        tree.set(row.pid, row);
        grown = true;
      }
    }
  }
  return [...tree.values()].filter((row) => !row.isZombie);
}

export function processKey({ pid, startTime }: ProcessRow): string {
  return `${pid}@${startTime}`;
}
