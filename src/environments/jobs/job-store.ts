import type { Database } from "../../lib/sqlite/database.ts";
import type { Migration } from "../../lib/sqlite/migrate.ts";
import {
  JOB_INPUTS,
  JOB_LIFETIMES,
  JOB_REASONS,
  type JobProcess,
  type JobReason,
  type JobRecord,
  type JobWatch,
} from "./job.ts";
import { CLOSED_BREAKER, type WatchBreaker } from "./watch/watch-breaker.ts";

const oneOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(", ");

/** The schema that `createJobStore` needs. */
export const jobMigration: Migration = {
  name: "jobs",
  sql: `
    create table job (
      id text primary key,
      environment_key text not null,
      owner text not null,
      command text not null,
      cwd text,
      lifetime text not null check (lifetime in (${oneOf(JOB_LIFETIMES)})),
      expires_at integer,
      input text not null check (input in (${oneOf(JOB_INPUTS)})),
      notify integer not null check (notify in (0, 1)),
      notified integer not null default 0 check (notified in (0, 1)),
      notice_held_until integer,
      watch text,
      state text not null default 'starting' check (state in ('starting', 'running', 'ended')),
      reason text check (reason in (${oneOf(JOB_REASONS)})),
      exit_code integer,
      out_of_memory integer not null default 0 check (out_of_memory in (0, 1)),
      started_at integer not null,
      ended_at integer,
      kill_requested integer not null default 0 check (kill_requested in (0, 1)),
      folder text,
      process text,
      check ((state = 'ended') = (reason is not null)),
      check ((state = 'running') <= (process is not null))
    ) strict;
    create index job_by_environment on job (environment_key, started_at);
    create table job_watch_breaker (id integer primary key check (id = 1), state text not null) strict`,
};

/** A row as the database returns it: column names as keys, null for undefined, 0 and 1 for booleans, and JSON texts. */
type JobRow = Readonly<Record<string, string | number | null>>;

export type NewJob = Pick<JobRecord, "id" | "owner" | "command" | "lifetime" | "notify" | "watch"> & {
  /** Undefined for a job without a time limit. */
  readonly maxAgeMs: number | undefined;
};
export type RunningJob = Required<Pick<JobRecord, "cwd" | "folder" | "input">> & {
  readonly process: JobProcess;
};
export interface JobEnd {
  readonly reason: JobReason;
  readonly exitCode: number | undefined;
  readonly ranOutOfMemory?: boolean;
}

/** The result of searching new output of a watched job. */
export interface WatchStep<Result> {
  readonly watch: JobWatch | undefined;
  readonly breaker: WatchBreaker;
  /** Watching has ended, so the end of the job is reported instead. */
  readonly reportsEnd: boolean;
  readonly result: Result;
}

/** The job records of one environment, shared by all processes that have the database open. */
export type JobStore = ReturnType<typeof createJobStore>;

export const TRACKED_JOBS = 64;
const FINISHED_KEPT_MS = 7 * 24 * 3_600_000;
/** Longer than reporting takes; a process that has not confirmed by then is considered dead. */
export const NOTICE_HELD_MS = 60_000;

/** The job records of one environment, in a database with `jobMigration`. */
export function createJobStore(database: Database, environmentKey: string) {
  const insert = database.prepare(`
    with clock as materialized (select hermes_now() as now) -- read once, so that both times agree
    insert into job (id, environment_key, owner, command, lifetime, expires_at, input, notify, watch, started_at)
    select :id, :environmentKey, :owner, :command, :lifetime, now + :maxAgeMs, 'none', :notify, :watch, now
      from clock
     where (select count(*) from job where environment_key = :environmentKey and state <> 'ended') < ${TRACKED_JOBS}`);
  const run = database.prepare(`
    update job set state = 'running', cwd = :cwd, folder = :folder, input = :input, process = :process
     where id = :id and state = 'starting'`);
  const end = database.prepare(`
    update job set state = 'ended', ended_at = hermes_now(),
           reason = case when kill_requested = 1 then 'killed' else :reason end, exit_code = :exitCode,
           out_of_memory = :ranOutOfMemory
     where id = :id and state <> 'ended'`);
  const requestKill = database.prepare("update job set kill_requested = 1 where id = ? and state <> 'ended'");
  const follow = database.prepare("update job set process = :process where id = :id and state = 'running'");
  const find = database.prepare<JobRow>("select * from job where id = ? and environment_key = ?");
  const findByPrefix = database.prepare<JobRow>(
    "select * from job where environment_key = :environmentKey and substr(id, 1, length(:prefix)) = :prefix limit 2",
  );
  const list = database.prepare<JobRow>(
    "select * from job where environment_key = ? order by started_at, rowid",
  );
  const claimNotice = database.prepare(
    "update job set notified = 1 where id = ? and notify = 1 and notified = 0 and state = 'ended'",
  );
  const holdNotices = database.prepare<JobRow>(`
    update job set notice_held_until = hermes_now() + ${NOTICE_HELD_MS}
     where environment_key = :environmentKey and owner = :owner and notify = 1 and notified = 0
       and state = 'ended' and coalesce(notice_held_until, 0) <= hermes_now() returning *`);
  const setWatch = database.prepare(`
    update job set watch = :watch, notify = max(notify, :notify)
     where id = :id and state = 'running' and watch = :seen`);
  const getBreaker = database.prepare<{ state: string }>("select state from job_watch_breaker where id = 1");
  const putBreaker = database.prepare("insert or replace into job_watch_breaker (id, state) values (1, ?)");
  const breaker = (): WatchBreaker => {
    const row = getBreaker.get();
    return row === undefined ? CLOSED_BREAKER : (JSON.parse(row.state) as WatchBreaker);
  };
  const prune = database.prepare<JobRow>(`
    delete from job where environment_key = :environmentKey and state = 'ended'
       and (ended_at < hermes_now() - ${FINISHED_KEPT_MS} or id not in (
         select id from job where environment_key = :environmentKey
          order by state = 'ended', ended_at desc, rowid desc limit ${TRACKED_JOBS})) returning *`);

  return {
    /** Adds a record in state `starting`; returns false if the maximum number of jobs is running. */
    add: ({ notify, watch, maxAgeMs, ...job }: NewJob, signal: AbortSignal) => {
      const row = { ...job, notify: Number(notify), watch: toJson(watch), maxAgeMs: maxAgeMs ?? null };
      return database.write(() => insert.run({ ...row, environmentKey }).changes === 1, signal);
    },
    /** Records a successful start; returns false if the record was ended in the meantime. */
    run: (id: string, { cwd, folder, input, process }: RunningJob, signal: AbortSignal) => {
      const row = { id, cwd: cwd ?? null, folder: folder ?? null, input, process: JSON.stringify(process) };
      return database.write(() => run.run(row).changes === 1, signal);
    },
    /** Records the end; the first recorded end is kept. After `requestKill`, the reason is always `killed`. */
    end: (id: string, { reason, exitCode, ranOutOfMemory = false }: JobEnd, signal: AbortSignal) => {
      const row = { id, reason, exitCode: exitCode ?? null, ranOutOfMemory: Number(ranOutOfMemory) };
      return database.write(() => void end.run(row), signal);
    },
    /** Records, before the first signal is sent, that Hermes is ending the job. */
    requestKill: (id: string, signal: AbortSignal) => database.write(() => void requestKill.run(id), signal),
    /** Replaces the process of a job with a surviving one that could not be ended. */
    follow: (id: string, process: JobProcess, signal: AbortSignal) =>
      database.write(() => void follow.run({ id, process: JSON.stringify(process) }), signal),
    find(id: string): JobRecord | undefined {
      const row = find.get(id, environmentKey);
      return row && toRecord(row);
    },
    /** Jobs whose id starts with `prefix`; at most two, which is enough to detect an ambiguous prefix. */
    findByPrefix: (prefix: string) => findByPrefix.all({ environmentKey, prefix }).map(toRecord),
    /** Oldest first. */
    list: (): readonly JobRecord[] => list.all(environmentKey).map(toRecord),
    /** Claims the right to report the end of a job; returns true exactly once per job, across all processes. */
    claimNotice: (id: string, signal: AbortSignal) =>
      database.write(() => claimNotice.run(id).changes === 1, signal),
    /** Reserves all unclaimed notices of an owner for a while; a reservation expires unless `claimNotice` uses it. */
    holdNotices: (owner: string, signal: AbortSignal) =>
      database.write(() => holdNotices.all({ environmentKey, owner }).map(toRecord), signal),
    /** Advances a watch from the state in `seen`, unless another process was faster or the job has ended. */
    stepWatch: <Result>(
      seen: JobRecord,
      step: (breaker: WatchBreaker) => WatchStep<Result>,
      signal: AbortSignal,
    ): Promise<Result | undefined> =>
      database.write(() => {
        const before = breaker();
        const next = step(before);
        const row = { id: seen.id, seen: toJson(seen.watch), watch: toJson(next.watch) };
        if (setWatch.run({ ...row, notify: Number(next.reportsEnd) }).changes === 0) return undefined;
        if (next.breaker !== before) putBreaker.run(JSON.stringify(next.breaker));
        return next.result;
      }, signal),
    breaker,
    setBreaker: (seen: WatchBreaker, next: WatchBreaker, signal: AbortSignal) =>
      database.write(() => {
        if (JSON.stringify(breaker()) !== JSON.stringify(seen)) return false;
        putBreaker.run(JSON.stringify(next));
        return true;
      }, signal),
    /** Deletes ended records that are too old or too many, and returns them, so that their folders can be removed. */
    prune: (signal: AbortSignal) => database.write(() => prune.all({ environmentKey }).map(toRecord), signal),
  };
}

function toJson(watch: JobWatch | undefined): string | null {
  return watch === undefined ? null : JSON.stringify(watch);
}

const FLAGS: ReadonlySet<string> = new Set(["notify", "notified", "kill_requested"]);

/** The checks in the migration guarantee that the values match the types of the record. */
function toRecord({ process, watch, out_of_memory, notice_held_until: _, ...row }: JobRow): JobRecord {
  const fields = Object.entries(row).map(([column, value]) => [
    column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    FLAGS.has(column) ? value === 1 : (value ?? undefined),
  ]);
  const parse = (json: unknown): unknown => (typeof json === "string" ? JSON.parse(json) : undefined);
  return {
    ...Object.fromEntries(fields),
    ranOutOfMemory: out_of_memory === 1,
    process: parse(process),
    watch: parse(watch),
  } as JobRecord;
}
