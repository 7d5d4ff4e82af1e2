import { randomBytes } from "node:crypto";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { CommandResult, Environment } from "../environment.ts";
import { endJob } from "./end-job.ts";
import { type JobProcess, type JobRecord, KILLED_EXIT_CODE, UNKNOWN_EXIT_CODE } from "./job.ts";
import { type Control, createControl } from "./job-control.ts";
import { createJobOutput } from "./job-output.ts";
import { CLOSE, LOCATE, OBSERVE, REMOVE, RESIZE, startCommand, WRITE } from "./job-programs.ts";
import { type JobStore, type RunningJob, TRACKED_JOBS } from "./job-store.ts";
import type {
  InputOutcome,
  JobStarted,
  Jobs,
  KillOutcome,
  LogPage,
  OwnerPhase,
  StartJobOptions,
} from "./jobs.ts";
import { formatStartFailure, parseStart } from "./parse-start.ts";
import { takeWatchEvents } from "./watch/take-watch-events.ts";
import { NEW_WATCH } from "./watch/watch-state.ts";

export interface JobsOptions {
  readonly environment: Environment;
  readonly store: JobStore;
  readonly clock: Clock;
  /** Removes secrets from commands before they are recorded, and from output before it is shown. */
  redact(text: string): string;
  /** Time between TERM and KILL. */
  readonly graceMs: number;
}

const START_WITHIN_MS = 10_000;
/** A start that is unconfirmed for this long belongs to a process that died. */
const START_ABANDONED_MS = 60_000;
const CLEAN_UP_WITHIN_MS = 15_000;
const WRITE_WITHIN_MS = 5_000;
const WRITE_BYTES = 16 * 1024;
/** The maximum age of jobs that are not persistent. */
const MAX_AGE_MS = 24 * 3_600_000;
const END_KEY = Buffer.from("\x04"); // Ctrl-D
const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 1_000;
const POLL_GROWTH = 1.5;

/** The jobs of an environment, including those that other processes have started in it. */
export function createJobs({ environment, store, clock, redact, graceMs }: JobsOptions): Jobs {
  const control = createControl(environment);
  // In a sandbox each process of Hermes has its own process ids, so jobs are recorded with those of the machine.
  const processes = environment.outside === undefined ? control : createControl(environment.outside);
  const output = createJobOutput(control, redact);

  async function start(command: string, options: StartJobOptions, signal: AbortSignal): Promise<JobStarted> {
    if (command.includes("\0")) throw new TypeError("a command cannot contain a NUL byte");
    await pruneOldJobs(signal);
    const id = `proc_${randomBytes(6).toString("hex")}`;
    const { owner, lifetime, notify = false, watch = [] } = options;
    const maxAgeMs = options.maxAgeMs ?? (lifetime === "persistent" ? undefined : MAX_AGE_MS);
    const watched = notify || watch.length === 0 ? undefined : { patterns: watch, state: NEW_WATCH };
    const record = { id, owner, command: redact(command), lifetime, notify, watch: watched, maxAgeMs };
    if (!(await store.add(record, signal))) {
      return { kind: "failed-start", message: `${TRACKED_JOBS} jobs are running; end one first` };
    }
    const message = await tryStart(id, command, options, signal);
    if (message === undefined) return describeStart(requireJob(id), options);
    const end = { reason: "failed_start", exitCode: undefined } as const;
    const cleanUp = AbortSignal.timeout(CLEAN_UP_WITHIN_MS);
    await store.end(id, end, cleanUp);
    await store.claimNotice(id, cleanUp); // the returned message reports the failure
    return { kind: "failed-start", message };
  }

  function describeStart(
    job: JobRecord,
    { notify = false, watch = [], pty = false }: StartJobOptions,
  ): JobStarted {
    const sameCommandJobs = store
      .list()
      .filter(
        ({ id, state, command, cwd }) =>
          id !== job.id && state === "running" && command === job.command && cwd === job.cwd,
      );
    const notes: string[] = [];
    if (notify && watch.length > 0)
      notes.push("The patterns are not watched, because the end of the job is reported anyway.");
    if (pty && job.input !== "terminal")
      notes.push(
        "There is no terminal, because `script` is missing in the environment: the job reads from a pipe.",
      );
    return { kind: "started", job, sameCommandJobs, notes };
  }

  /** Returns why the job was not started; undefined if it runs and is recorded as running. */
  async function tryStart(
    id: string,
    command: string,
    { session, workdir, variables = {}, takesInput = false, pty = false }: StartJobOptions,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const input = pty ? "terminal" : takesInput ? "pipe" : "none";
    let stdout = "";
    let result: CommandResult;
    try {
      result = await environment.run(
        {
          command: startCommand(id, input),
          session,
          workdir,
          variables,
          stdin: command,
          timeoutMs: START_WITHIN_MS,
          onOutput: (stream, bytes) => {
            if (stream === "stdout") stdout += Buffer.from(bytes).toString("utf8");
          },
        },
        signal,
      );
    } catch (error) {
      // `run` rejects only if the command was not started.
      if (!(error instanceof AppError) && !signal.aborted) throw error;
      return redact(messageOf(error));
    }
    if (result.ended === "exited") {
      const parsed = parseStart(stdout);
      if (parsed === undefined) return redact(formatStartFailure(stdout, result));
      const started = processes === control ? parsed : await locate(id, parsed);
      if (await store.run(id, started, AbortSignal.timeout(CLEAN_UP_WITHIN_MS))) return undefined;
    }
    // The job may be running without a record, so end it.
    await endJob(
      { control: processes, clock },
      { id, root: undefined, since: "0", graceMs: 0 },
      AbortSignal.timeout(CLEAN_UP_WITHIN_MS),
    );
    const fate = result.ended === "exited" ? "abandoned by another process" : result.ended;
    return [`the start was ${fate}`, ...result.notices].join(". ");
  }

  /** The job with the process ids of the machine instead of those of its sandbox. */
  async function locate(id: string, job: RunningJob): Promise<RunningJob> {
    const { pid, startTime, keeperPid, keeperStartTime } = job.process;
    const fields = [id, pid, startTime, keeperPid, keeperStartTime];
    const found = await processes.run(LOCATE, { fields }, AbortSignal.timeout(CLEAN_UP_WITHIN_MS));
    const [own = 0, keeper = 0] = found.toString("latin1").split("\n").map(Number);
    // No process has the start time 0: one that is not found has ended already.
    const process = {
      bootId: job.process.bootId,
      ...(own === 0 ? { pid, startTime: "0" } : { pid: own, startTime }),
      ...(keeper === 0 ? { keeperPid, keeperStartTime: "0" } : { keeperPid: keeper, keeperStartTime }),
    };
    return { ...job, process };
  }

  async function pruneOldJobs(signal: AbortSignal): Promise<void> {
    const folders = (await store.prune(signal)).flatMap(({ folder }) => folder ?? []);
    if (folders.length > 0) await control.run(REMOVE, { fields: folders }, signal);
  }

  /** Inspects jobs that are recorded as not ended, and records the end of those that have ended. */
  async function observe(jobs: readonly JobRecord[], signal: AbortSignal): Promise<void> {
    for (const job of jobs) {
      if (job.state !== "starting" || clock.now() - job.startedAt < START_ABANDONED_MS) continue;
      const unconfirmed = { id: job.id, root: undefined, since: "0", graceMs };
      await endJob({ control: processes, clock }, unconfirmed, signal);
      await store.end(job.id, { reason: "failed_start", exitCode: undefined }, signal);
    }
    const fields = jobs.flatMap(({ id, state, folder, process, killRequested }) => {
      if (state !== "running" || process === undefined || folder === undefined) return [];
      const { bootId, pid, startTime, keeperPid, keeperStartTime } = process;
      return [id, folder, Number(killRequested), bootId, pid, startTime, keeperPid, keeperStartTime];
    });
    if (fields.length === 0) return;
    // The processes first: a keeper writes the exit code before it exits.
    const gone = processes === control ? undefined : await readStates(processes, fields, signal);
    for (const [, id = "", state, code, oom] of await readStates(control, fields, signal)) {
      if (state === "gone" && gone?.every(([, other]) => other !== id)) continue;
      const wasKilled = jobs.some((job) => job.id === id && job.killRequested);
      const ranOutOfMemory = oom !== undefined;
      if (state === "exited")
        await store.end(id, { reason: "exited", exitCode: Number(code), ranOutOfMemory }, signal);
      else if (wasKilled) await store.end(id, { reason: "killed", exitCode: KILLED_EXIT_CODE }, signal);
      else await store.end(id, { reason: "lost", exitCode: UNKNOWN_EXIT_CODE }, signal);
    }
  }

  function requireJob(id: string): JobRecord {
    const [, hex] = /^(?:proc_)?([0-9a-f]{4,12})$/.exec(id) ?? [];
    if (hex === undefined && /^(?:proc_)?[0-9a-f]{1,3}$/.test(id))
      throw new AppError(
        "job-not-found",
        `${id} is too short: the prefix of a job id needs at least 4 digits`,
      );
    const [job, other] = hex === undefined ? [] : store.findByPrefix(`proc_${hex}`);
    if (other !== undefined) throw new AppError("job-not-found", `several job ids start with ${id}`);
    if (job === undefined) throw new AppError("job-not-found", `the job ${id} does not exist`);
    return job;
  }

  async function refresh(id: string, signal: AbortSignal): Promise<JobRecord> {
    const job = requireJob(id);
    await observe([job], signal);
    return requireJob(job.id);
  }

  async function log(
    id: string,
    page: { offset?: number; limit?: number },
    signal: AbortSignal,
  ): Promise<LogPage> {
    // Refresh the state before reading: if the job has ended by then, the page contains all its output.
    const job = await refresh(id, signal);
    const { sawEnd, ...shown } = await output.page(job, page, signal);
    if (job.state === "ended" && sawEnd) await store.claimNotice(job.id, signal);
    return shown;
  }

  async function wait(id: string, timeoutMs: number, signal: AbortSignal): ReturnType<Jobs["wait"]> {
    const { id: fullId } = requireJob(id);
    const endsAt = clock.now() + timeoutMs;
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, MAX_POLL_MS)) {
      try {
        const job = await refresh(fullId, signal);
        if (job.state === "ended") {
          await store.claimNotice(fullId, signal);
          return { kind: "ended", job };
        }
        const leftMs = endsAt - clock.now();
        if (leftMs <= 0) return { kind: "timed-out", job };
        await clock.sleep(Math.min(pauseMs, leftMs), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        return { kind: "interrupted", job: requireJob(fullId) };
      }
    }
  }

  async function input(
    id: string,
    program: string,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<InputOutcome> {
    const job = await refresh(id, signal);
    if (job.state !== "running" || job.folder === undefined) return "ended";
    // Small chunks are sent with the command itself; a separate stream would use up a channel per write.
    for (let from = 0; ; from += WRITE_BYTES) {
      const stdin = bytes.subarray(from, from + WRITE_BYTES);
      const request = { fields: [job.folder], stdin, timeoutMs: WRITE_WITHIN_MS };
      const { ended, output, notices } = await control.tryRun(program, request, signal);
      if (ended === "timed-out") return "blocked";
      const outcome = /^(written|no-input|closed)$/m.exec(output.toString("latin1"))?.[1];
      if (outcome === undefined) {
        signal.throwIfAborted();
        const reason = `the input of ${job.id} could not be written`;
        throw new AppError("job-unreachable", [reason, ...notices].join(". "));
      }
      if (outcome !== "written" || from + WRITE_BYTES >= bytes.length) return outcome as InputOutcome;
    }
  }

  async function kill(id: string, signal: AbortSignal): Promise<KillOutcome> {
    const job = await refresh(id, signal);
    const { process } = job;
    const hadEnded = job.state === "ended";
    await store.requestKill(job.id, signal);
    const { found, survivors } = await endJob(
      { control: processes, clock },
      { id: job.id, root: hadEnded ? undefined : process, since: process?.keeperStartTime ?? "0", graceMs },
      signal,
    );
    const [survivor] = survivors.toSorted((one, other) => Number(one.startTime) - Number(other.startTime));
    if (survivor === undefined) {
      if (hadEnded && found === 0) return { kind: "already-ended", job, survivors };
      await store.end(job.id, { reason: "killed", exitCode: KILLED_EXIT_CODE }, signal);
      await store.claimNotice(job.id, signal); // the caller knows that the job ended
      return { kind: "killed", job: requireJob(job.id), survivors };
    }
    if (process !== undefined) {
      // Follow the oldest survivor, so that the job stays listed while any of its processes is alive.
      const { pid, startTime } = survivor;
      const followed: JobProcess = { ...process, pid, startTime };
      await store.follow(job.id, { ...followed, keeperPid: pid, keeperStartTime: startTime }, signal);
    }
    return {
      kind: "survived",
      job: requireJob(job.id),
      survivors: survivors.map(({ pid, user }) => ({ pid, user })),
    };
  }

  async function killAll(
    isDue: (job: JobRecord) => boolean,
    signal: AbortSignal,
  ): Promise<readonly KillOutcome[]> {
    const outcomes: KillOutcome[] = [];
    for (const job of store.list().filter((job) => job.state !== "ended" && isDue(job)))
      outcomes.push(await kill(job.id, signal));
    return outcomes;
  }

  async function list(signal: AbortSignal): Promise<readonly JobRecord[]> {
    await observe(store.list(), signal);
    return store.list();
  }

  return {
    start,
    list,
    log,
    wait,
    kill,
    async poll(id, signal) {
      const job = await refresh(id, signal);
      const preview = await output.preview(job, signal);
      return { job, uptimeMs: (job.endedAt ?? clock.now()) - job.startedAt, preview };
    },
    async read(id, from, signal) {
      return output.read(await refresh(id, signal), from, signal);
    },
    write: (id, bytes, signal) => input(id, WRITE, Buffer.from(bytes), signal),
    submit: (id, line, signal) => input(id, WRITE, Buffer.from(`${line}\n`), signal),
    async close(id, signal) {
      const isTerminal = requireJob(id).input === "terminal";
      return isTerminal ? input(id, WRITE, END_KEY, signal) : input(id, CLOSE, Buffer.alloc(0), signal);
    },
    async resize(id, { rows, columns }, signal) {
      const job = await refresh(id, signal);
      if (job.state !== "running" || job.input !== "terminal" || job.folder === undefined) return;
      const pid = processes === control ? "" : (job.process?.pid ?? "");
      await processes.run(RESIZE, { fields: [job.folder, rows, columns, pid] }, signal);
    },
    sweep: (owner, ended, signal) =>
      killAll(
        (job) => job.owner === owner && mustEnd(job, ended === "turn" ? "between-turns" : "gone"),
        signal,
      ),
    sweepExpired: (phaseOf, signal) =>
      killAll(
        (job) =>
          mustEnd(job, phaseOf(job.owner)) || clock.now() >= (job.expiresAt ?? Number.POSITIVE_INFINITY),
        signal,
      ),
    async takeCompletions(owner, signal) {
      await observe(
        store.list().filter((job) => job.owner === owner && job.notify),
        signal,
      );
      return store.holdNotices(owner, signal);
    },
    async confirmCompletions(ids, signal) {
      for (const id of ids) await store.claimNotice(id, signal);
    },
    async takeWatchEvents(owner, signal) {
      await observe(
        store.list().filter((job) => job.owner === owner && job.watch !== undefined),
        signal,
      );
      return takeWatchEvents({ store, output, clock, redact }, owner, signal);
    },
  };
}

/** The jobs that have ended: id, state, exit code and whether memory ran out. */
async function readStates(
  control: Control,
  fields: readonly (string | number)[],
  signal: AbortSignal,
): Promise<readonly RegExpExecArray[]> {
  const text = (await control.run(OBSERVE, { fields }, signal)).toString("utf8");
  return [...text.matchAll(/^(proc_\w+) (exited|gone)(?: (-?\d+)( oom)?)?$/gm)];
}

/** Whether a job must be ended while its owner is in this phase. */
function mustEnd({ lifetime }: JobRecord, phase: OwnerPhase): boolean {
  if (lifetime === "persistent" || phase === "in-turn") return false;
  return lifetime === "turn" || phase === "gone";
}
