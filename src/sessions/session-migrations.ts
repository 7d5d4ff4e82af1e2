import { leaseMigration } from "../lib/lease.ts";
import type { Migration } from "../lib/migrate.ts";
import { searchMigration } from "./search/search-schema.ts";

const sessionMigration: Migration = {
  name: "sessions",
  // Texts that a provider sees again are kept as JSON: plain UTF-8 cannot hold half a surrogate pair. The large
  // columns come last, so that reading the others never touches their pages. Keys of sessions and messages are never
  // given twice: processes and the search index remember how far they have come by them.
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
  // Which there are, the program says: a list in the schema would be one more migration with each new one.
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

/** The schema of `sessions.sqlite`. */
export const sessionMigrations: readonly Migration[] = [
  leaseMigration,
  sessionMigration,
  searchMigration,
  shellMigration,
  outcomeMigration,
  addressMigration,
];
