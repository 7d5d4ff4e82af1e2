/**
 * What dispatchers keep in the board's own database, beside the tables of the store: who does the bookkeeping, who is
 * there at all, whose turn it is, and what was already told about a task.
 */
export const DISPATCH_TABLES: readonly string[] = [
  `create table if not exists dispatch_lease (
     name {text} primary key,
     token {int} not null,
     owner {text} not null,
     expires_at {int} not null
   ) {strict}`,
  `create table if not exists dispatcher (
     owner {text} primary key,
     host_id {text} not null,
     last_tick_at {int} not null,
     last_error {text},
     last_error_at {int},
     last_report {text}
   ) {strict}`,
  `create table if not exists dispatch_share (profile {text} primary key, pass {int} not null) {strict}`,
  // Few runs end so, and each pass asks for the last one of each profile.
  "create index if not exists run_at_wall on run (profile, id) where outcome = 'rate_limited'",
  `create table if not exists dispatch_note (
     task_id {text} primary key references task (id) on delete cascade,
     told {text},
     lifted_at {int}
   ) {strict}`,
];

/** Whether the last of the tables is there, in each database's own words. */
export const HAS_TABLES = {
  sqlite: "select count(*) as found from sqlite_master where name = 'dispatch_note'",
  postgres: "select count(*) as found from pg_class where oid = to_regclass('dispatch_note')",
} as const;
