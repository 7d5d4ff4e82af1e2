import { approvalMigration, clarificationMigration } from "../approvals/approval-schema.ts";
import { leaseMigration } from "../lib/sqlite/lease.ts";
import type { Migration } from "../lib/sqlite/migrate.ts";
import { searchMigration } from "./search/search-schema.ts";

const sessionMigration: Migration = {
  name: "sessions",
  // Texts that are sent to a provider again are stored as JSON, because UTF-8 cannot hold half a surrogate pair. The
  // large columns come last, so that reading the others does not touch their pages. Keys of sessions and messages are
  // never reused: processes and the search index store their progress as a key.
  sql: `
    create table session (
      key integer primary key autoincrement,
      id text not null unique,
      source text not null check (source <> ''),
      title text collate nocase unique check (title <> ''),
      parent_key integer references session (key) on delete set null,
      cwd text not null,
      provider text not null,
      model text not null,
      created_at integer not null,
      active_at integer not null,
      system_prompt text not null check (json_valid(system_prompt)),
      tools_json text not null
    ) strict;
    create index session_by_activity on session (active_at);
    create index session_by_parent on session (parent_key) where parent_key is not null;

    create table turn (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      id text not null,
      started_at integer not null,
      ended_at integer,
      outcome text check (outcome in ('completed', 'stopped', 'budget', 'failed')),
      reason text,
      hint text,
      check ((ended_at is null) = (outcome is null)),
      unique (session_key, id)
    ) strict;
    create index turn_by_session on turn (session_key);
    create index turn_by_start on turn (started_at);
    create unique index turn_open on turn (session_key) where outcome is null;

    create table message (
      key integer primary key autoincrement,
      turn_key integer not null references turn (key) on delete cascade,
      position integer not null,
      role text not null check (role in ('user', 'assistant', 'tool')),
      kind text check (kind is null or (kind = 'steer' and role = 'user')),
      created_at integer not null,
      body text not null,
      unique (turn_key, position)
    ) strict;

    create table tool_call (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      message_key integer not null references message (key) on delete cascade,
      position integer not null,
      call_id text not null,
      tool text not null,
      state text not null default 'pending' check (state in ('pending', 'started', 'ended')),
      outcome text check (outcome in ('ok', 'failed', 'stopped', 'unknown', 'not-run')),
      result_key integer unique references message (key) on delete cascade,
      duration_ms real,
      display text,
      check ((state = 'ended') = (outcome is not null)),
      check ((state = 'ended') = (result_key is not null)),
      unique (session_key, call_id),
      unique (message_key, position)
    ) strict;
    create index tool_call_open on tool_call (session_key) where state <> 'ended';

    create table request (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      turn_key integer not null references turn (key) on delete cascade,
      message_key integer unique references message (key) on delete cascade,
      provider text not null,
      model text not null,
      sent_at integer not null,
      prefix_kept integer check (prefix_kept >= 0),
      prefix_added text,
      finish text,
      input_tokens integer,
      cache_read_tokens integer,
      cache_write_tokens integer,
      output_tokens integer,
      reasoning_tokens integer,
      cost_usd real,
      check ((prefix_kept is null) = (prefix_added is null)),
      check ((message_key is null) = (finish is null))
    ) strict;
    create index request_by_session on request (session_key);
    create index request_by_turn on request (turn_key);
    create index request_by_time on request (sent_at)`,
};

const shellMigration: Migration = {
  name: "shell of a session",
  sql: "alter table session add column shell text check (shell is null or json_valid(shell))",
};

const outcomeMigration: Migration = {
  name: "outcomes of a turn",
  // The program defines the outcomes: a list in the schema would need a migration for every new outcome.
  sql: `
    create table new_turn (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      id text not null,
      started_at integer not null,
      ended_at integer,
      outcome text check (outcome <> ''),
      reason text,
      hint text,
      check ((ended_at is null) = (outcome is null)),
      unique (session_key, id)
    ) strict;
    insert into new_turn select key, session_key, id, started_at, ended_at, outcome, reason, hint from turn;
    drop table turn;
    alter table new_turn rename to turn;
    create index turn_by_session on turn (session_key);
    create index turn_by_start on turn (started_at);
    create unique index turn_open on turn (session_key) where outcome is null`,
};

const addressMigration: Migration = {
  name: "address of a session's model",
  sql: "alter table session add column base_url text",
};

const keptRouteMigration: Migration = {
  name: "what a session keeps of its route",
  sql: `
    alter table session add column keeps_address integer not null default 0 check (keeps_address in (0, 1));
    alter table session add column api_mode text`,
};

const routeSwitchMigration: Migration = {
  name: "switches of key and model",
  // Keys appear only as the names of their variables.
  sql: `
    alter table request add column key_source text;
    create table route_switch (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      turn_key integer not null references turn (key) on delete cascade,
      switched_at integer not null,
      from_provider text not null,
      from_model text not null,
      from_key_source text,
      to_provider text not null,
      to_model text not null,
      to_key_source text,
      reason text not null,
      lost_cache_tokens integer,
      lost_cache_usd real
    ) strict;
    create index route_switch_by_session on route_switch (session_key);
    create index route_switch_by_turn on route_switch (turn_key)`,
};

const lineageMigration: Migration = {
  name: "branches, undone turns and archived sessions",
  // A copied turn refers to its original while that exists, so that a search shows the text only once.
  sql: `
    alter table session add column parent_link text check (parent_link <> '');
    alter table session add column archived_at integer;
    alter table turn add column undone_at integer;
    alter table turn add column origin_key integer references turn (key) on delete set null;
    create index turn_by_origin on turn (origin_key) where origin_key is not null`,
};

const reviewMigration: Migration = {
  name: "requests to the reviewer",
  sql: "alter table request add column is_review integer not null default 0 check (is_review in (0, 1))",
};

const compactionMigration: Migration = {
  name: "compactions",
  // `from_key` is the first message that the model still gets unchanged; it never moves back, so that no message is
  // compacted twice. `request_key` is the last request before the compaction: the prompt after it differs on purpose.
  sql: `
    create table compaction (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      turn_key integer not null references turn (key) on delete cascade,
      created_at integer not null,
      trigger text not null check (trigger <> ''),
      method text not null check (method <> ''),
      from_key integer not null,
      request_key integer not null,
      tokens_before integer not null,
      tokens_after integer not null,
      duration_ms real not null,
      cost_usd real,
      replacement text not null check (json_valid(replacement))
    ) strict;
    create index compaction_by_session on compaction (session_key);
    create index compaction_by_turn on compaction (turn_key);
    create trigger compaction_moves_forward before insert on compaction
      when new.from_key < (select max(from_key) from compaction join turn on turn.key = compaction.turn_key
                            where compaction.session_key = new.session_key and turn.undone_at is null)
      begin select raise(abort, 'these messages are already compacted'); end;
    alter table session add column compaction_failures integer not null default 0 check (compaction_failures >= 0);
    alter table session add column compaction_retry_at integer not null default 0`,
};

const untrustedMigration: Migration = {
  name: "where untrusted text comes from",
  // A JSON list; null for the messages that contain no such text. Undone turns and branches need no rule of their own.
  sql: `
    alter table message add column untrusted text check (untrusted is null or json_valid(untrusted));
    create index message_untrusted on message (turn_key) where untrusted is not null`,
};

/** The schema of `sessions.sqlite`. */
export const sessionMigrations: readonly Migration[] = [
  leaseMigration,
  sessionMigration,
  searchMigration,
  shellMigration,
  outcomeMigration,
  addressMigration,
  keptRouteMigration,
  approvalMigration,
  routeSwitchMigration,
  lineageMigration,
  clarificationMigration,
  reviewMigration,
  compactionMigration,
  untrustedMigration,
];
