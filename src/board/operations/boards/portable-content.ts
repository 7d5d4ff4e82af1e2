import { basename } from "node:path";
import type { SqlValue } from "../../../lib/sqlite/statement.ts";

export type Row = Readonly<Record<string, SqlValue>>;

/** Rewrites the rows of a board for an export, one by one. */
export interface ExportRewrite {
  board(row: Row): Row;
  /** Returns undefined for a row that is omitted. */
  row(table: string, row: Row): Row | undefined;
  /** Additional rows by table. */
  readonly addedRows: Readonly<Record<string, readonly Row[]>>;
}

const CLEARED_RUN_COLUMNS = {
  host_id: null,
  supervisor_pid: null,
  worker_pid: null,
  worker_identity: null,
  lease_until: 0,
};
/** Keys of event payloads that refer to processes and paths of a host. */
const HOST_PAYLOAD_KEYS = new Set([
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

/** Rewrites a board as if every run had been released at `now`; removes processes, paths and subscriptions of its host. */
export function portableRewrite(open: readonly Row[], lastEvent: number, now: number): ExportRewrite {
  const openRunOf = new Map(open.map((run) => [run["task_id"], run]));
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
  const rewriteOf: Readonly<Record<string, (row: Row) => Row | undefined>> = {
    // Counters by host and profile are omitted, because nothing runs in the export.
    counter({ name }) {
      if (name === "event") return { name, value: lastEvent + open.length };
      return name === "running" ? { name, value: 0 } : undefined;
    },
    task(task) {
      const run = openRunOf.get(task["id"] ?? null);
      const moved = run && { status: run["source_status"] ?? null, current_run_id: null, ready_at: now };
      return { ...task, ...moved, workspace_path: null };
    },
    run: (run) => ({
      ...run,
      ...CLEARED_RUN_COLUMNS,
      ...(run["ended_at"] === null && { ended_at: now, outcome: "reclaimed", error: "export" }),
    }),
    attachment: (row) => ({ ...row, stored_path: basename(String(row["stored_path"])) }),
    event: (event) => ({ ...event, payload: withoutHostKeys(String(event["payload"])) }),
    subscription: () => undefined,
  };
  return {
    board: (board) => ({ ...board, default_workdir: null }),
    row: (table, row) => rewriteOf[table]?.(row) ?? (table in rewriteOf ? undefined : row),
    addedRows: { event: endings },
  };
}

function withoutHostKeys(payload: string): string {
  const facts = Object.entries(JSON.parse(payload) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(facts.filter(([name]) => !HOST_PAYLOAD_KEYS.has(name))));
}
