import type { Migration } from "../lib/sqlite/migrate.ts";

/** Part of the schema of `sessions.sqlite`: questions that wait for a person, remembered answers, and every decision. */
export const approvalMigration: Migration = {
  name: "approvals and decisions",
  // A call has one question at a time: a process that asks again after a crash takes over the waiting row.
  sql: `
    create table approval (
      key integer primary key autoincrement,
      id text not null unique check (id <> ''),
      session_key integer not null references session (key) on delete cascade,
      kind text not null check (kind in ('approval', 'question')),
      call_id text not null,
      tool text not null,
      hash text not null,
      summary text not null,
      reason text not null,
      rule text,
      details text not null check (json_valid(details)),
      holder text,
      asked_at integer not null,
      ends_at integer,
      state text not null default 'waiting' check (state in ('waiting', 'approved', 'denied', 'expired', 'withdrawn')),
      scope text check (scope in ('once', 'session', 'always')),
      answer text,
      answered_by text,
      answered_at integer,
      used_at integer,
      check ((state = 'waiting') = (answered_at is null))
    ) strict;
    create unique index approval_waiting on approval (session_key, hash) where state = 'waiting';
    create index approval_unused on approval (session_key, hash) where state = 'approved' and used_at is null;
    create index approval_by_call on approval (session_key, call_id);
    create index approval_by_time on approval (asked_at);

    create table remembered_answer (
      session_key integer not null references session (key) on delete cascade,
      rule text not null check (rule <> ''),
      approval_key integer references approval (key) on delete set null,
      remembered_at integer not null,
      primary key (session_key, rule)
    ) strict, without rowid;

    create table decision (
      key integer primary key,
      session_key integer not null references session (key) on delete cascade,
      call_id text not null,
      tool text not null,
      decided_at integer not null,
      verdict text not null check (verdict in ('allowed', 'denied')),
      step text not null check (step <> ''),
      rule text,
      layer text,
      scope text,
      answered_by text,
      approval_id text,
      hash text not null,
      summary text not null,
      reason text not null
    ) strict;
    create index decision_by_call on decision (session_key, call_id);
    create index decision_by_time on decision (decided_at)`,
};

/** Adds clarifications, with which the model asks for information: they end with a text instead of a verdict. */
export const clarificationMigration: Migration = {
  name: "clarifications",
  sql: `
    create table new_approval (
      key integer primary key autoincrement,
      id text not null unique check (id <> ''),
      session_key integer not null references session (key) on delete cascade,
      kind text not null,
      call_id text not null,
      tool text not null,
      hash text not null,
      summary text not null,
      reason text not null,
      rule text,
      details text not null check (json_valid(details)),
      holder text,
      asked_at integer not null,
      ends_at integer,
      state text not null default 'waiting',
      scope text check (scope in ('once', 'session', 'always')),
      answer text,
      answered_by text,
      answered_at integer,
      used_at integer,
      check ((state = 'waiting') = (answered_at is null)),
      check (
        (kind = 'approval' and state in ('waiting', 'approved', 'denied', 'expired', 'withdrawn')) or
        (kind = 'clarification' and state in ('waiting', 'answered', 'expired', 'withdrawn'))
      ),
      check (state <> 'answered' or answer <> '')
    ) strict;
    insert into new_approval
      select key, id, session_key, kind, call_id, tool, hash, summary, reason, rule, details, holder, asked_at, ends_at,
             state, scope, answer, answered_by, answered_at, used_at
        from approval where kind = 'approval';
    drop table approval;
    alter table new_approval rename to approval;
    create unique index approval_waiting on approval (session_key, hash) where state = 'waiting';
    create index approval_unused on approval (session_key, hash) where state in ('approved', 'answered') and used_at is null;
    create index approval_by_call on approval (session_key, call_id);
    create index approval_by_time on approval (asked_at)`,
};
