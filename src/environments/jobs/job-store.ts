import type { Database } from "../../lib/database.ts";
import type { Migration } from "../../lib/migrate.ts";
import { JOB_LIFETIMES, JOB_REASONS, type JobProcess, type JobReason, type JobRecord } from "./job.ts";

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
      notify integer not null check (notify in (0, 1)),
      notified integer not null default 0 check (notified in (0, 1)),
      state text not null default 'starting' check (state in ('starting', 'running', 'ended')),
      reason text check (reason in (${oneOf(JOB_REASONS)})),
      exit_code integer,
      started_at integer not null,
      ended_at integer,
      kill_requested integer not null default 0 check (kill_requested in (0, 1)),
      folder text,
      process text,
      check ((state = 'ended') = (reason is not null)),
      check ((state = 'running') <= (process is not null))
    ) strict;
    create index job_by_environment on job (environment_key, started_at)`,
};

interface JobRow {
  readonly id: string;
  readonly environment_key: string;
  readonly owner: string;
  readonly command: string;
  readonly cwd: string | null;
  readonly lifetime: JobRecord["lifetime"];
  readonly notify: number;
  readonly notified: number;
  readonly state: JobRecord["state"];
  readonly reason: JobReason | null;
  readonly exit_code: number | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly kill_requested: number;
  readonly folder: string | null;
  readonly process: string | null;
}

export type NewJob = Pick<JobRecord, "id" | "owner" | "command" | "lifetime" | "notify">;
export type RunningJob = Required<Pick<JobRecord, "cwd" | "folder">> & { readonly process: JobProcess };
export interface JobEnd {
  readonly reason: JobReason;
  readonly exitCode: number | undefined;
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
  /** Takes all such rights of an owner at once. */
  claimNotices(owner: string, signal: AbortSignal): Promise<readonly JobRecord[]>;
  /** Removes finished records that are too old or too many, and returns them: their folders should go too. */
  prune(signal: AbortSignal): Promise<readonly JobRecord[]>;
}

export const TRACKED_JOBS = 64;
const FINISHED_KEPT_MS = 7 * 24 * 3_600_000;

/** The jobs of one environment in a database that has had `jobMigration`. */
export function createJobStore(database: Database, environmentKey: string): JobStore {
  const insert = database.prepare(`
    insert into job (id, environment_key, owner, command, lifetime, notify, started_at)
    select :id, :environmentKey, :owner, :command, :lifetime, :notify, hermes_now()
     where (select count(*) from job where environment_key = :environmentKey and state <> 'ended') < ${TRACKED_JOBS}`);
  const run = database.prepare(`
    update job set state = 'running', cwd = :cwd, folder = :folder, process = :process
     where id = :id and state = 'starting'`);
  const end = database.prepare(`
    update job set state = 'ended', ended_at = hermes_now(),
           reason = case when kill_requested = 1 then 'killed' else :reason end, exit_code = :exitCode
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
  const claimNotices = database.prepare<JobRow>(`
    update job set notified = 1
     where environment_key = :environmentKey and owner = :owner
       and notify = 1 and notified = 0 and state = 'ended' returning *`);
  const prune = database.prepare<JobRow>(`
    delete from job where environment_key = :environmentKey and state = 'ended'
       and (ended_at < hermes_now() - ${FINISHED_KEPT_MS} or id not in (
         select id from job where environment_key = :environmentKey
          order by state = 'ended', ended_at desc, rowid desc limit ${TRACKED_JOBS})) returning *`);

  return {
    add: ({ notify, ...job }, signal) =>
      database.write(
        () => insert.run({ ...job, notify: Number(notify), environmentKey }).changes === 1,
        signal,
      ),
    run: (id, { cwd, folder, process }, signal) =>
      database.write(
        () =>
          run.run({ id, cwd: cwd ?? null, folder: folder ?? null, process: JSON.stringify(process) })
            .changes === 1,
        signal,
      ),
    end: (id, { reason, exitCode }, signal) =>
      database.write(() => void end.run({ id, reason, exitCode: exitCode ?? null }), signal),
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
    claimNotices: (owner, signal) =>
      database.write(() => claimNotices.all({ environmentKey, owner }).map(toRecord), signal),
    prune: (signal) => database.write(() => prune.all({ environmentKey }).map(toRecord), signal),
  };
}

function toRecord(row: JobRow): JobRecord {
  return {
    id: row.id,
    environmentKey: row.environment_key,
    owner: row.owner,
    command: row.command,
    cwd: row.cwd ?? undefined,
    lifetime: row.lifetime,
    notify: row.notify === 1,
    notified: row.notified === 1,
    state: row.state,
    reason: row.reason ?? undefined,
    exitCode: row.exit_code ?? undefined,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    killRequested: row.kill_requested === 1,
    folder: row.folder ?? undefined,
    process: row.process === null ? undefined : (JSON.parse(row.process) as JobProcess),
  };
}
