import type { Database } from "../../lib/database.ts";
import type { Migration } from "../../lib/migrate.ts";
import {
  JOB_INPUTS,
  JOB_LIFETIMES,
  JOB_REASONS,
  type JobProcess,
  type JobReason,
  type JobRecord,
  type JobWatch,
} from "./job.ts";
import { CLOSED_BREAKER, type WatchBreaker } from "./watch-breaker.ts";

const oneOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(", ");

/** What a database needs for `createJobStore`. */
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

interface JobRow {
  readonly id: string;
  readonly environment_key: string;
  readonly owner: string;
  readonly command: string;
  readonly cwd: string | null;
  readonly lifetime: JobRecord["lifetime"];
  readonly expires_at: number | null;
  readonly input: JobRecord["input"];
  readonly notify: number;
  readonly notified: number;
  readonly watch: string | null;
  readonly state: JobRecord["state"];
  readonly reason: JobReason | null;
  readonly exit_code: number | null;
  readonly out_of_memory: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly kill_requested: number;
  readonly folder: string | null;
  readonly process: string | null;
}

export type NewJob = Pick<JobRecord, "id" | "owner" | "command" | "lifetime" | "notify" | "watch"> & {
  /** Undefined for one that may live for ever. */
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

/** What became of a watch by one look at new output. */
export interface WatchStep<Told> {
  readonly watch: JobWatch | undefined;
  readonly breaker: WatchBreaker;
  /** Nobody watches any more, and so the end is to be told instead. */
  readonly promotes: boolean;
  readonly told: Told;
}

/** The records of the jobs of one environment, shared with every process that has the database open. */
export interface JobStore {
  /** Makes a record in state `starting`; false when as many jobs as may be are not over yet. */
  add(job: NewJob, signal: AbortSignal): Promise<boolean>;
  /** The start has succeeded; false when the record was ended meanwhile. */
  run(id: string, job: RunningJob, signal: AbortSignal): Promise<boolean>;
  /** The first end that is recorded stays; one that was asked for is `killed`, whatever was seen. */
  end(id: string, end: JobEnd, signal: AbortSignal): Promise<void>;
  /** Says, before the first signal is sent, that an end from now on is our doing. */
  requestKill(id: string, signal: AbortSignal): Promise<void>;
  /** A job whose own process is gone goes on in one that could not be ended. */
  follow(id: string, process: JobProcess, signal: AbortSignal): Promise<void>;
  find(id: string): JobRecord | undefined;
  /** Those whose id begins so, at most two: more are as good as two. */
  findByPrefix(prefix: string): readonly JobRecord[];
  /** Oldest first. */
  list(): readonly JobRecord[];
  /** Takes the right to tell that a job is over; true exactly once per job, in whichever process. */
  claimNotice(id: string, signal: AbortSignal): Promise<boolean>;
  /** Lends all such rights of an owner for a while: they come back unless they are used up by `claimNotice`. */
  holdNotices(owner: string, signal: AbortSignal): Promise<readonly JobRecord[]>;
  /** Goes on from the watch that was seen, unless another process has done so first or the job is over. */
  stepWatch<Told>(
    seen: JobRecord,
    step: (breaker: WatchBreaker) => WatchStep<Told>,
    signal: AbortSignal,
  ): Promise<Told | undefined>;
  breaker(): WatchBreaker;
  setBreaker(seen: WatchBreaker, next: WatchBreaker, signal: AbortSignal): Promise<boolean>;
  /** Removes finished records that are too old or too many, and returns them: their folders should go too. */
  prune(signal: AbortSignal): Promise<readonly JobRecord[]>;
}

export const TRACKED_JOBS = 64;
const FINISHED_KEPT_MS = 7 * 24 * 3_600_000;
/** Longer than telling takes; whoever has not told by then is taken to be dead. */
export const NOTICE_HELD_MS = 60_000;

/** The jobs of one environment in a database that has had `jobMigration`. */
export function createJobStore(database: Database, environmentKey: string): JobStore {
  const insert = database.prepare(`
    insert into job (id, environment_key, owner, command, lifetime, expires_at, input, notify, watch, started_at)
    select :id, :environmentKey, :owner, :command, :lifetime, hermes_now() + :maxAgeMs, 'none', :notify, :watch,
           hermes_now()
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
    add: ({ notify, watch, maxAgeMs, ...job }, signal) => {
      const row = { ...job, notify: Number(notify), watch: toJson(watch), maxAgeMs: maxAgeMs ?? null };
      return database.write(() => insert.run({ ...row, environmentKey }).changes === 1, signal);
    },
    run: (id, { cwd, folder, input, process }, signal) => {
      const row = { id, cwd: cwd ?? null, folder: folder ?? null, input, process: JSON.stringify(process) };
      return database.write(() => run.run(row).changes === 1, signal);
    },
    end: (id, { reason, exitCode, ranOutOfMemory = false }, signal) => {
      const row = { id, reason, exitCode: exitCode ?? null, ranOutOfMemory: Number(ranOutOfMemory) };
      return database.write(() => void end.run(row), signal);
    },
    requestKill: (id, signal) => database.write(() => void requestKill.run(id), signal),
    follow: (id, process, signal) =>
      database.write(() => void follow.run({ id, process: JSON.stringify(process) }), signal),
    find(id) {
      const row = find.get(id, environmentKey);
      return row === undefined ? undefined : toRecord(row);
    },
    findByPrefix: (prefix) => findByPrefix.all({ environmentKey, prefix }).map(toRecord),
    list: () => list.all(environmentKey).map(toRecord),
    claimNotice: (id, signal) => database.write(() => claimNotice.run(id).changes === 1, signal),
    holdNotices: (owner, signal) =>
      database.write(() => holdNotices.all({ environmentKey, owner }).map(toRecord), signal),
    stepWatch: (seen, step, signal) =>
      database.write(() => {
        const before = breaker();
        const next = step(before);
        const row = { id: seen.id, seen: toJson(seen.watch), watch: toJson(next.watch) };
        if (setWatch.run({ ...row, notify: Number(next.promotes) }).changes === 0) return undefined;
        if (next.breaker !== before) putBreaker.run(JSON.stringify(next.breaker));
        return next.told;
      }, signal),
    breaker,
    setBreaker: (seen, next, signal) =>
      database.write(() => {
        if (JSON.stringify(breaker()) !== JSON.stringify(seen)) return false;
        putBreaker.run(JSON.stringify(next));
        return true;
      }, signal),
    prune: (signal) => database.write(() => prune.all({ environmentKey }).map(toRecord), signal),
  };
}

function toJson(watch: JobWatch | undefined): string | null {
  return watch === undefined ? null : JSON.stringify(watch);
}

function toRecord(row: JobRow): JobRecord {
  return {
    id: row.id,
    environmentKey: row.environment_key,
    owner: row.owner,
    command: row.command,
    cwd: row.cwd ?? undefined,
    lifetime: row.lifetime,
    expiresAt: row.expires_at ?? undefined,
    input: row.input,
    notify: row.notify === 1,
    notified: row.notified === 1,
    state: row.state,
    reason: row.reason ?? undefined,
    exitCode: row.exit_code ?? undefined,
    ranOutOfMemory: row.out_of_memory === 1,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    killRequested: row.kill_requested === 1,
    folder: row.folder ?? undefined,
    process: row.process === null ? undefined : (JSON.parse(row.process) as JobProcess),
    watch: row.watch === null ? undefined : (JSON.parse(row.watch) as JobWatch),
  };
}
