import type { Migration } from "../../lib/sqlite/migrate.ts";

/** The schema of `api.sqlite`. Times are in milliseconds since 1970. */
export const apiMigrations: readonly Migration[] = [
  {
    name: "api",
    sql: `
      create table api_key (
        id text primary key check (id <> 'main'),
        name text not null unique check (name <> ''),
        hash text not null unique,
        scopes text not null check (json_valid(scopes)),
        created_at integer not null
      ) strict;

      -- The names by which a key may continue a session: the id of the session, and names that the client chose.
      create table api_session (
        owner text not null,
        name text not null check (name <> ''),
        session_id text not null,
        created_at integer not null,
        primary key (owner, name)
      ) strict, without rowid;

      create table api_run (
        id text primary key,
        owner text not null,
        kind text not null check (kind in ('run', 'chat', 'response')),
        model text not null,
        session_id text,
        holder text not null,
        created_at integer not null,
        ended_at integer,
        result text check (json_valid(result)),
        check ((ended_at is null) = (result is null))
      ) strict, without rowid;
      create index api_run_by_end on api_run (ended_at);

      create table api_response (
        id text primary key,
        owner text not null,
        session_id text not null,
        last_message integer not null,
        body text not null check (json_valid(body)),
        used_at integer not null
      ) strict, without rowid;
      create index api_response_by_use on api_response (owner, used_at);

      create table idempotency_key (
        owner text not null,
        key text not null,
        request_hash text not null,
        run_id text not null references api_run (id) on delete cascade,
        primary key (owner, key)
      ) strict, without rowid;
      create index idempotency_by_run on idempotency_key (run_id)`,
  },
];
