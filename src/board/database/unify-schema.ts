import { readSchema } from "../../lib/sqlite/check-schema.ts";
import type { MigrationTarget } from "../../lib/sqlite/migrate.ts";

/**
 * The first migration was once changed in place, so files of the same version have different schemas. This migration brings
 * them all to the schema that `steps` describe. A table that differs is rebuilt with its rows.
 */
export function unifySchema(target: MigrationTarget, steps: readonly string[]): void {
  addMissingColumns(target);
  const statements = steps.flatMap((sql) => sql.split(";").map((statement) => statement.trim()));
  for (const statement of statements) {
    const [, table] = /^create table (\w+)/.exec(statement) ?? [];
    if (table === undefined) continue;
    const later = statements.filter((other) => other.startsWith(`alter table ${table} `));
    const rebuilt = `new_${table}`;
    for (const sql of [statement, ...later])
      target.exec(sql.replace(` table ${table} `, ` table ${rebuilt} `));
    replace(target, table, rebuilt);
  }
  const wanted = new Map(
    statements.flatMap((sql) => {
      const [, name] = /^create (?:unique )?index (\w+)/.exec(sql) ?? [];
      return name === undefined ? [] : [[name, sql] as const];
    }),
  );
  const normalise = (sql = "") => sql.replace(/\s+/g, " ").toLowerCase();
  for (const [name, sql] of readSchema(target)) {
    if (!/^create (unique )?index/i.test(sql)) continue;
    if (normalise(wanted.get(name)) === normalise(sql)) wanted.delete(name);
    else target.exec(`drop index ${name}`);
  }
  for (const sql of wanted.values()) target.exec(sql);
}

/** Adds the columns that the rows need before they can be copied into the new tables. */
function addMissingColumns(target: MigrationTarget): void {
  if (!columnsOf(target, "task").includes("archived_at")) {
    target.exec(`
      alter table task add column archived_at integer;
      update task set archived_at = updated_at where status = 'archived'`);
  }
  if (!columnsOf(target, "board").includes("runs_purged_to")) {
    // Run ids came from a SQLite sequence at that time; they must not be reused.
    target.exec(`
      alter table board add column runs_purged_to integer not null default 0;
      update board set runs_purged_to = coalesce((select seq from sqlite_sequence where name = 'run'), 0)`);
  }
}

function replace(target: MigrationTarget, table: string, rebuilt: string): void {
  const schema = readSchema(target);
  const old = schema.get(table);
  if (old === schema.get(rebuilt)?.replace(` ${rebuilt} `, ` ${table} `)) {
    target.exec(`drop table ${rebuilt}`);
    return;
  }
  if (old !== undefined) {
    const kept = columnsOf(target, table);
    const columns = columnsOf(target, rebuilt).filter((column) => kept.includes(column));
    target.exec(`
      insert into ${rebuilt} (${columns.join(", ")}) select ${columns.join(", ")} from ${table};
      delete from sqlite_sequence where name = '${rebuilt}';
      insert into sqlite_sequence select '${rebuilt}', seq from sqlite_sequence where name = '${table}';
      drop table ${table}`);
  }
  target.exec(`alter table ${rebuilt} rename to ${table}`);
}

function columnsOf(target: MigrationTarget, table: string): string[] {
  return target
    .prepare<{ name: string }>(`select name from pragma_table_info('${table}')`)
    .all()
    .map(({ name }) => name);
}

/** The same migration for PostgreSQL, where only these parts differ. */
export const POSTGRES_UNIFY_SCHEMA = `
  alter table board add column if not exists runs_purged_to {int} not null default 0;
  alter table task add column if not exists archived_at {int};
  update task set archived_at = updated_at where status = 'archived' and archived_at is null;
  drop index if exists task_by_key, task_by_status, task_by_schedule, task_by_priority, run_open, run_by_task, event_by_run;
  create unique index task_by_key on task (idempotency_key)
    where idempotency_key is not null and archived_at is null;
  create index task_by_status on task (status, priority, seq desc);
  create index task_by_schedule on task (scheduled_at) where scheduled_at is not null;
  create index task_by_priority on task (priority desc, seq) where archived_at is null;
  create unique index run_by_task on run (task_id, (case when ended_at is null then 0 else id end));
  create index if not exists run_at_wall on run (profile, id) where outcome = 'rate_limited';
  create index if not exists event_of_failure on event (run_id)
    where kind in ('crashed', 'timed_out', 'spawn_failed', 'protocol_violation', 'budget_exhausted');
  create table if not exists dispatch_lease (
    name {text} primary key, token {int} not null, owner {text} not null, expires_at {int} not null);
  create table if not exists dispatcher (
    owner {text} primary key, host_id {text} not null, last_tick_at {int} not null,
    last_error {text}, last_error_at {int}, last_report {text});
  create table if not exists dispatch_share (profile {text} primary key, pass {int} not null);
  create table if not exists dispatch_note (
    task_id {text} primary key references task (id) on delete cascade, told {text}, lifted_at {int})`;
