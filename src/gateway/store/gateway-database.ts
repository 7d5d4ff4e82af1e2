import { type Database, openDatabase } from "../../lib/sqlite/database.ts";
import { leaseMigration } from "../../lib/sqlite/lease.ts";
import type { Migration } from "../../lib/sqlite/migrate.ts";
import type { Clock } from "../../lib/time/clock.ts";

const messageMigration: Migration = {
  name: "messages",
  // Keys are never reused: they are the numbers by which people name a message.
  sql: `
    create table cursor (
      account text primary key,
      value text not null
    ) strict, without rowid;

    create table chat (
      key text primary key,
      session_id text,
      platform text not null,
      chat_id text not null,
      thread_id text,
      label text not null,
      interruptions integer not null default 0,
      used_at integer not null
    ) strict, without rowid;
    create index chat_by_session on chat (session_id) where session_id is not null;

    create table turn (
      id text primary key,
      chat_key text not null references chat (key),
      session_id text,
      state text not null default 'running' check (state in ('running', 'ended', 'void')),
      outcome text,
      resumes text references turn (id),
      started_at integer not null,
      ended_at integer,
      check ((state = 'running') = (ended_at is null))
    ) strict, without rowid;
    create unique index turn_running on turn (chat_key) where state = 'running';

    create table inbox (
      key integer primary key autoincrement,
      platform text not null,
      account text not null,
      chat_id text not null,
      message_id text not null,
      message text not null check (json_valid(message)),
      received_at integer not null,
      state text not null default 'stored' check (state in ('stored', 'waiting', 'running', 'noted', 'done', 'refused', 'ignored', 'failed')),
      reason text,
      chat_key text references chat (key),
      turn_id text references turn (id),
      unique (account, chat_id, message_id)
    ) strict;
    create index inbox_stored on inbox (key) where state = 'stored';
    create index inbox_waiting on inbox (chat_key, key) where state = 'waiting';
    create index inbox_by_turn on inbox (turn_id) where turn_id is not null;

    create table outbox (
      key integer primary key autoincrement,
      id text not null unique,
      source text not null,
      part integer not null,
      platform text not null,
      chat_id text not null,
      thread_id text,
      replies_to text,
      content text not null check (json_valid(content)),
      inbox_key integer references inbox (key),
      created_at integer not null,
      state text not null default 'pending' check (state in ('pending', 'sending', 'uncertain', 'sent', 'failed')),
      is_secret integer not null default 0 check (is_secret in (0, 1)),
      is_marked integer not null default 0 check (is_marked in (0, 1)),
      attempts integer not null default 0,
      next_attempt_at integer not null default 0,
      message_id text,
      reason text,
      ended_at integer,
      unique (source, part),
      check ((state in ('sent', 'failed')) = (ended_at is not null))
    ) strict;
    create index outbox_open on outbox (platform, key) where state in ('pending', 'sending', 'uncertain');
    create index outbox_by_inbox on outbox (inbox_key) where inbox_key is not null`,
};

const accessMigration: Migration = {
  name: "pairing",
  // A code is stored as a salted hash; a request has an id of its own by which it is approved.
  sql: `
    create table pairing_request (
      id text primary key,
      platform text not null,
      user_id text not null,
      user_name text not null,
      salt blob not null,
      code_hash blob not null,
      requested_at integer not null,
      expires_at integer not null,
      unique (platform, user_id)
    ) strict, without rowid;

    create table paired_user (
      platform text not null,
      user_id text not null,
      user_name text not null,
      paired_at integer not null,
      primary key (platform, user_id)
    ) strict, without rowid;

    create table pairing_failure (
      platform text primary key,
      failures integer not null,
      locked_until integer not null
    ) strict, without rowid`,
};

const stateMigration: Migration = {
  name: "state of the gateway",
  // The desired and the actual state are separate columns: no process infers one from the other.
  sql: `
    create table gateway (
      one integer primary key check (one = 1),
      desired text not null default 'running' check (desired in ('running', 'stopped')),
      phase text not null default 'stopped' check (phase in ('starting', 'running', 'draining', 'stopped')),
      is_background integer not null default 0 check (is_background in (0, 1)),
      hosts_dispatcher integer not null default 0 check (hosts_dispatcher in (0, 1)),
      exit_reason text,
      changed_at integer not null
    ) strict;
    insert into gateway (one, changed_at) values (1, 0);

    create table gateway_start (
      key integer primary key autoincrement,
      started_at integer not null
    ) strict;

    create table platform_state (
      name text primary key,
      state text not null check (state in ('connecting', 'connected', 'retrying', 'failed', 'off')),
      code text,
      reason text,
      attempts integer not null,
      since integer not null,
      heard_at integer
    ) strict, without rowid`,
};

const liveMigration: Migration = {
  name: "messages that change, and choices of people",
  // A part with a message id that is to be sent is an edit of that message.
  sql: `
    alter table outbox add column is_revised integer not null default 0 check (is_revised in (0, 1));
    alter table chat add column choices text not null default '{}' check (json_valid(choices))`,
};

const hookMigration: Migration = {
  name: "trusted hooks",
  sql: `
    create table trusted_hook (
      name text primary key,
      hash text not null,
      trusted_at integer not null
    ) strict, without rowid`,
};

export const gatewayMigrations: readonly Migration[] = [
  leaseMigration,
  messageMigration,
  accessMigration,
  stateMigration,
  liveMigration,
  hookMigration,
];

/** Opens the database of the gateway. FULL, so that an acknowledged message survives a power failure. */
export function openGatewayDatabase(path: string, clock: Clock, signal: AbortSignal): Promise<Database> {
  return openDatabase(path, { migrations: gatewayMigrations, synchronous: "FULL", clock }, signal);
}
