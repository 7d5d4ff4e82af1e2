import type { Migration, MigrationTarget } from "../../lib/sqlite/migrate.ts";
import { BLOCK_KINDS, RUN_OUTCOMES, WORKSPACE_KINDS } from "../task.ts";
import { STATUSES } from "../transitions.ts";
import { toSqlite } from "./dialect.ts";
import { POSTGRES_UNIFY_SCHEMA, unifySchema } from "./unify-schema.ts";

/** A migration step: one text for both databases (see dialect.ts), or one implementation for each. */
export type BoardMigration = { readonly name: string } & (
  | { readonly sql: string }
  | {
      readonly sqlite: (target: MigrationTarget, earlier: readonly string[]) => void;
      readonly postgres: string;
    }
);

/** Avoids `in`, for which SQLite builds a temporary table at each insert and update. */
const isOneOf = (column: string, words: readonly string[]): string =>
  words.map((word) => `${column} = '${word}'`).join(" or ");

/**
 * The schema of a board. Event ids come from a counter row that stays locked until the commit, so that readers never see a
 * greater id before a smaller one and a cursor skips nothing. An event has no foreign key, so that it can refer to a
 * purged task. Row constraints are in the schema, where no process can bypass them.
 *
 * Claims are the most frequent writes, and each index that a claim touches is one more page to write. Few indexes therefore
 * include the status of a task; a partial index on the status also makes SQLite re-prepare every statement that compares the
 * status with a bound value. The unique index `run_by_task` serves two purposes: it groups the runs of a task, and it allows
 * at most one open run per task.
 *
 * A landed step never changes (scripts/frozen-migrations.ts): databases that have already run it would not get the change.
 *
 * Dispatchers also store their state here: the bookkeeping lease, the live dispatchers, the shares of profiles, and the
 * notices already reported about a task.
 */
export const boardMigrations: readonly BoardMigration[] = [
  {
    name: "board",
    sql: `
    create table board (
      id {int} primary key check (id = 1),
      slug {text} not null,
      name {text} not null,
      description {text},
      icon {text},
      color {text},
      default_workdir {text},
      paused {int} not null default 0 check (paused in (0, 1)),
      created_at {int} not null,
      events_kept_from {int} not null default 0,
      runs_purged_to {int} not null default 0
    ) {strict};

    create table counter (name {text} primary key, value {int} not null check (value >= 0)) {clustered};
    insert into counter values ('event', 0), ('running', 0);

    create table lease (
      name {text} primary key,
      token {int} not null,
      owner {text} not null,
      ttl_ms {int} not null check (ttl_ms > 0),
      expires_at {int} not null
    ) {strict};

    create table task (
      seq {identity},
      id {text} not null unique,
      title {text} not null check (title <> ''),
      body {text},
      assignee {text},
      status {text} not null check (${isOneOf("status", STATUSES)}),
      priority {int} not null default 0,
      tenant {text},
      created_by {text} not null,
      created_at {int} not null,
      updated_at {int} not null,
      started_at {int},
      completed_at {int},
      archived_at {int},
      ready_at {int},
      workspace_kind {text} not null default 'scratch' check (${isOneOf("workspace_kind", WORKSPACE_KINDS)}),
      workspace_path {text},
      branch_name {text},
      project_id {text},
      idempotency_key {text},
      result {text},
      consecutive_failures {int} not null default 0,
      last_failure_error {text},
      max_runtime_seconds {int} check (max_runtime_seconds > 0),
      max_retries {int} check (max_retries > 0),
      skills {text},
      model_override {text},
      provider_override {text},
      reasoning_effort {text},
      goal_mode {int} not null default 0 check (goal_mode in (0, 1)),
      goal_max_turns {int},
      block_kind {text} check (${isOneOf("block_kind", BLOCK_KINDS)}),
      block_recurrences {int} not null default 0,
      block_sticky {int} not null default 0 check (block_sticky in (0, 1)),
      session_id {text},
      scheduled_at {int},
      not_before {int},
      hold {int} not null default 0 check (hold in (0, 1)),
      triage_reason {text},
      workflow_template_id {text},
      current_step_key {text},
      completion_contract {text} not null default 'local-only',
      phase {text} not null default 'work' check (phase in ('work', 'review')),
      implementer {text},
      reviewer {text},
      origin_task_id {text},
      current_run_id {int},
      check ((status = 'running') = (current_run_id is not null)),
      check ((status = 'archived') = (archived_at is not null)),
      check (provider_override is null or model_override is not null)
    ) {strict};
    create unique index task_by_key on task (idempotency_key)
      where idempotency_key is not null and archived_at is null;
    create index task_by_status on task (status, priority, seq desc);
    create index task_by_assignee on task (assignee, priority desc, seq);
    create index task_by_tenant on task (tenant, priority desc, seq) where tenant is not null;
    create index task_by_session on task (session_id) where session_id is not null;
    create index task_by_schedule on task (scheduled_at) where scheduled_at is not null;
    create index task_by_priority on task (priority desc, seq) where archived_at is null;

    create table link (
      parent_id {text} not null references task (id) on delete cascade,
      child_id {text} not null references task (id) on delete cascade,
      primary key (parent_id, child_id),
      check (parent_id <> child_id)
    ) {strict};
    create index link_by_child on link (child_id, parent_id);

    create table run (
      id {runkey},
      task_id {text} not null references task (id) on delete cascade,
      profile {text},
      step_key {text},
      source_status {text} not null check (source_status in ('ready', 'review')),
      lease_token {text} not null,
      host_id {text},
      supervisor_pid {int},
      worker_pid {int},
      worker_identity {text},
      lease_ms {int} not null,
      lease_until {int} not null,
      max_runtime_seconds {int},
      last_heartbeat_at {int},
      started_at {int} not null,
      ended_at {int},
      outcome {text} check (${isOneOf("outcome", Object.keys(RUN_OUTCOMES))}),
      summary {text},
      metadata {text},
      error {text},
      session_id {text},
      input_tokens {int} not null default 0,
      output_tokens {int} not null default 0,
      cached_tokens {int} not null default 0,
      cost_micros {int} not null default 0,
      check ((ended_at is null) = (outcome is null))
    ) {strict};
    create unique index run_by_task on run (task_id, (case when ended_at is null then 0 else id end));
    create index run_by_profile on run (profile, id) where outcome = 'completed';
    create index run_at_wall on run (profile, id) where outcome = 'rate_limited';

    create table comment (
      id {identity},
      task_id {text} not null references task (id) on delete cascade,
      author {text} not null check (author <> ''),
      body {text} not null check (body <> ''),
      created_at {int} not null
    ) {strict};
    create index comment_by_task on comment (task_id, id);

    create table event (
      id {int} primary key,
      task_id {text},
      run_id {int},
      kind {text} not null,
      actor {text} not null,
      from_status {text},
      to_status {text},
      payload {text} not null,
      created_at {int} not null,
      check ((from_status is null) = (to_status is null) or kind = 'created')
    ) {strict};
    create index event_by_task on event (task_id, id);
    create index event_of_failure on event (run_id)
      where kind in ('crashed', 'timed_out', 'spawn_failed', 'protocol_violation', 'budget_exhausted');

    create table attachment (
      id {identity},
      task_id {text} not null references task (id) on delete cascade,
      filename {text} not null check (filename <> ''),
      stored_path {text} not null,
      content_type {text},
      size {int} not null check (size >= 0),
      uploaded_by {text} not null,
      created_at {int} not null,
      unique (task_id, filename)
    ) {strict};

    create table subscription (
      task_id {text} not null references task (id) on delete cascade,
      platform {text} not null check (platform <> ''),
      chat_id {text} not null check (chat_id <> ''),
      thread_id {text} not null default '',
      user_id {text},
      user_id_alt {text},
      chat_type {text},
      notifier_profile {text},
      delivery_mode {text} not null check (delivery_mode in ('notify', 'notify+wake', 'wake')),
      notify_progress {int} not null default 0 check (notify_progress in (0, 1)),
      delivery_metadata {text},
      created_at {int} not null,
      last_event_id {int} not null,
      last_ping_event_id {int} not null default 0,
      primary key (task_id, platform, chat_id, thread_id)
    ) {strict};

    create table dispatch_lease (
      name {text} primary key,
      token {int} not null,
      owner {text} not null,
      expires_at {int} not null
    ) {strict};

    create table dispatcher (
      owner {text} primary key,
      host_id {text} not null,
      last_tick_at {int} not null,
      last_error {text},
      last_error_at {int},
      last_report {text}
    ) {strict};

    create table dispatch_share (profile {text} primary key, pass {int} not null) {strict};

    create table dispatch_note (
      task_id {text} primary key references task (id) on delete cascade,
      told {text},
      lifted_at {int}
    ) {strict}`,
  },
  {
    // An ended run counts until its processes have exited; runs that ended before this migration no longer count.
    name: "leaving-runs",
    sql: `
    alter table run add column ended_by {text};
    update run set lease_until = 0 where ended_at is not null;
    create index run_leaving on run (lease_until) where ended_at is not null and lease_until > 0`,
  },
  {
    // Marks the processes of the board's runs; a path or URL can be spelled in many ways and would not identify the board.
    name: "identity",
    sql: "alter table board add column identity {text}",
  },
  {
    // Stores the content of attachments in parts, so that several hosts can read it.
    name: "shared-attachments",
    sql: `
    alter table attachment add column content_key {text};
    create table attachment_part (
      content_key {text} not null,
      number {int} not null,
      content {bytes} not null,
      primary key (content_key, number)
    ) {strict}`,
  },
  {
    // Finds the first ready tasks of each profile without scanning all ready tasks.
    name: "ready-by-profile",
    sql: "create index task_ready on task (assignee, priority desc, seq) where status = 'ready'",
  },
  { name: "one-shape", sqlite: unifySchema, postgres: POSTGRES_UNIFY_SCHEMA },
  {
    // Detects changed or truncated files; null for attachments from before this migration.
    name: "attachment-hash",
    sql: "alter table attachment add column sha256 {text}",
  },
  {
    // On PostgreSQL the step `one-shape` did not update the check constraints. Their names are the server's default names.
    name: "same-checks",
    sqlite: () => undefined,
    postgres: `
    update task set archived_at = case when status = 'archived' then updated_at end
     where (status = 'archived') <> (archived_at is not null);
    alter table task
      drop constraint if exists task_status_check, drop constraint if exists task_workspace_kind_check,
      drop constraint if exists task_block_kind_check, drop constraint if exists task_check,
      drop constraint if exists task_check1, drop constraint if exists task_check2;
    alter table task
      add constraint task_status_check check (${isOneOf("status", STATUSES)}),
      add constraint task_workspace_kind_check check (${isOneOf("workspace_kind", WORKSPACE_KINDS)}),
      add constraint task_block_kind_check check (${isOneOf("block_kind", BLOCK_KINDS)}),
      add constraint task_check check ((status = 'running') = (current_run_id is not null)),
      add constraint task_check1 check ((status = 'archived') = (archived_at is not null)),
      add constraint task_check2 check (provider_override is null or model_override is not null);
    alter table run drop constraint if exists run_outcome_check;
    alter table run add constraint run_outcome_check check (${isOneOf("outcome", Object.keys(RUN_OUTCOMES))})`,
  },
  {
    // Lists ended tasks by their end without sorting all of them. Claims and ends of runs do not touch these indexes.
    name: "ended-tasks",
    sql: `
    update task set completed_at = updated_at where status = 'done' and completed_at is null;
    create index task_by_completion on task (completed_at, seq) where completed_at is not null and archived_at is null;
    create index task_by_archival on task (archived_at, seq) where archived_at is not null`,
  },
];

/** The migrations for SQLite. */
export function sqliteMigrations(): Migration[] {
  return boardMigrations.map((step, index) => {
    if ("sql" in step) return { name: step.name, sql: toSqlite(step.sql) };
    const earlier = boardMigrations
      .slice(0, index)
      .flatMap((other) => ("sql" in other ? [toSqlite(other.sql)] : []));
    return { name: step.name, up: (target) => step.sqlite(target, earlier) };
  });
}
