import { basename } from "node:path";
import type { SqlValue } from "../../lib/statement.ts";

export type Row = Readonly<Record<string, SqlValue>>;

/** What an export makes of the rows of a board, one by one. */
export interface Rewriting {
  board(row: Row): Row;
  /** Undefined for one that is left out. */
  row(table: string, row: Row): Row | undefined;
  /** Rows that a table has besides. */
  readonly added: Readonly<Record<string, readonly Row[]>>;
}

const OF_RUN = {
  host_id: null,
  supervisor_pid: null,
  worker_pid: null,
  worker_identity: null,
  lease_until: 0,
};
/** What events say of processes and places. */
const OF_EVENT = new Set([
  "pid",
  "worker_pid",
  "prev_pid",
  "supervisor_pid",
  "host_id",
  "lock",
  "path",
  "moved_to",
  "workspace",
]);

/**
 * A board as it would be if every run had been given back at `now`, without what means something only where it came from:
 * processes, paths and subscriptions. Of the path of an attachment the name of its file is left.
 */
export function withoutHost(open: readonly Row[], lastEvent: number, now: number): Rewriting {
  const sources = new Map(open.map((run) => [run["task_id"], run]));
  const endings = open.map((run, index) => ({
    id: lastEvent + index + 1,
    task_id: run["task_id"] ?? null,
    run_id: run["id"] ?? null,
    kind: "reclaimed",
    actor: "export",
    from_status: "running",
    to_status: run["source_status"] ?? null,
    payload: JSON.stringify({ reason: "export" }),
    created_at: now,
  }));
  const changed: Readonly<Record<string, (row: Row) => Row | undefined>> = {
    counter: ({ name = null }) =>
      isOfBoard(name) ? { name, value: name === "event" ? lastEvent + open.length : 0 } : undefined,
    task(task) {
      const run = sources.get(task["id"] ?? null);
      const moved = run && { status: run["source_status"] ?? null, current_run_id: null, ready_at: now };
      return { ...task, ...moved, workspace_path: null };
    },
    run: (run) => ({
      ...run,
      ...OF_RUN,
      ...(run["ended_at"] === null && { ended_at: now, outcome: "reclaimed", error: "export" }),
    }),
    attachment: (row) => ({ ...row, stored_path: basename(String(row["stored_path"])) }),
    event: (event) => ({ ...event, payload: withoutPlaces(String(event["payload"])) }),
    subscription: () => undefined,
  };
  return {
    board: (board) => ({ ...board, default_workdir: null }),
    row: (table, row) => changed[table]?.(row) ?? (table in changed ? undefined : row),
    added: { event: endings },
  };
}

/** Counters by host and profile say nothing once nothing runs. */
function isOfBoard(name: SqlValue): boolean {
  return name === "event" || name === "running";
}

function withoutPlaces(payload: string): string {
  const facts = Object.entries(JSON.parse(payload) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(facts.filter(([name]) => !OF_EVENT.has(name))));
}
