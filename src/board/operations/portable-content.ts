import { basename } from "node:path";
import type { SqlValue } from "../../lib/statement.ts";

export type Row = Readonly<Record<string, SqlValue>>;

/** All rows of a board by table. */
export interface BoardContent {
  readonly board: Row;
  readonly tables: ReadonlyMap<string, readonly Row[]>;
}

const OF_RUN = {
  host_id: null,
  supervisor_pid: null,
  worker_pid: null,
  worker_identity: null,
  lease_until: 0,
};
const LEFT_OUT = new Set(["subscription"]);
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
export function withoutHost({ board, tables }: BoardContent, now: number): BoardContent {
  const rowsOf = (table: string): readonly Row[] => tables.get(table) ?? [];
  const open = rowsOf("run").filter(({ ended_at }) => ended_at === null);
  const sources = new Map(open.map((run) => [run["task_id"], run]));
  const lastEvent = Number(rowsOf("counter").find(({ name }) => name === "event")?.["value"] ?? 0);
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
  const changed: Readonly<Record<string, (row: Row) => Row>> = {
    counter: ({ name }) => ({ name: name ?? null, value: name === "event" ? lastEvent + open.length : 0 }),
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
  };
  const kept = [...tables]
    .filter(([table]) => !LEFT_OUT.has(table))
    .map(([table, rows]) => [table, rows.map(changed[table] ?? ((row) => row))] as const);
  const portable = new Map<string, readonly Row[]>(kept);
  portable.set("event", [...(portable.get("event") ?? []), ...endings]);
  portable.set("counter", (portable.get("counter") ?? []).filter(isOfBoard));
  return { board: { ...board, default_workdir: null }, tables: portable };
}

/** Counters by host and profile say nothing once nothing runs. */
function isOfBoard({ name }: Row): boolean {
  return name === "event" || name === "running";
}

function withoutPlaces(payload: string): string {
  const facts = Object.entries(JSON.parse(payload) as Record<string, unknown>);
  return JSON.stringify(Object.fromEntries(facts.filter(([name]) => !OF_EVENT.has(name))));
}
