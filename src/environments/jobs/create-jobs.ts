import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { AppError, messageOf } from "../../lib/errors.ts";
import type { CommandResult, Environment } from "../environment.ts";
import { leftoverBytes, unfinishedBytes } from "../utf8-boundary.ts";
import { createControl } from "./control.ts";
import { endJob } from "./end-job.ts";
import { type JobProcess, type JobRecord, KILLED_EXIT_CODE, UNKNOWN_EXIT_CODE } from "./job.ts";
import { CLOSE, LOG, OBSERVE, REMOVE, startCommand, TAIL, WRITE } from "./job-programs.ts";
import { type JobStore, TRACKED_JOBS } from "./job-store.ts";
import type { InputOutcome, JobStarted, Jobs, KillOutcome, LogPage, StartJob } from "./jobs.ts";

export interface JobsOptions {
  readonly environment: Environment;
  readonly store: JobStore;
  readonly clock: Clock;
  /** Takes secrets out of commands before they are recorded, and out of output before it is shown. */
  redact(text: string): string;
  /** Between TERM and KILL. */
  readonly graceMs: number;
}

const START_WITHIN_MS = 10_000;
/** A start that nobody has confirmed for so long was given up by a process that died. */
const START_ABANDONED_MS = 60_000;
const CLEAN_UP_WITHIN_MS = 15_000;
const WRITE_WITHIN_MS = 5_000;
const WRITE_BYTES = 16 * 1024;
const LOG_WITHIN_MS = 60_000;
const PREVIEW_CHARS = 1_000;
const PAGE_LINES = 200;
const PAGE_BYTES = 200_000;
const LOOK_FIRST_MS = 20;
const LOOK_LAST_MS = 1_000;
const LOOK_GROWTH = 1.5;

/** The jobs of an environment, its own and those that other processes have started in it. */
export function createJobs({ environment, store, clock, redact, graceMs }: JobsOptions): Jobs {
  const control = createControl(environment);

  async function start(command: string, options: StartJob, signal: AbortSignal): Promise<JobStarted> {
    if (command.includes("\0")) throw new TypeError("a command cannot contain a NUL byte");
    await forgetOld(signal);
    const id = `proc_${randomBytes(6).toString("hex")}`;
    const { owner, lifetime, notify = false } = options;
    if (!(await store.add({ id, owner, command: redact(command), lifetime, notify }, signal))) {
      return { kind: "failed-start", message: `${TRACKED_JOBS} jobs are running; end one first` };
    }
    const message = await tryStart(id, command, options, signal);
    if (message === undefined) return { kind: "started", job: require(id) };
    const end = { reason: "failed_start", exitCode: undefined } as const;
    const cleanUp = AbortSignal.timeout(CLEAN_UP_WITHIN_MS);
    await store.end(id, end, cleanUp);
    await store.claimNotice(id, cleanUp); // the answer tells it
    return { kind: "failed-start", message };
  }

  /** Why nothing runs; undefined when the job runs and its record says so. */
  async function tryStart(
    id: string,
    command: string,
    { session, workdir, variables = {}, takesInput = false }: StartJob,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    let said = "";
    let result: CommandResult;
    try {
      result = await environment.run(
        {
          command: startCommand(id, takesInput),
          session,
          workdir,
          variables,
          stdin: command,
          timeoutMs: START_WITHIN_MS,
          onOutput: (stream, bytes) => {
            if (stream === "stdout") said += Buffer.from(bytes).toString("utf8");
          },
        },
        signal,
      );
    } catch (error) {
      // Rejects only when nothing was started.
      if (!(error instanceof AppError) && !signal.aborted) throw error;
      return redact(messageOf(error));
    }
    if (result.ended === "exited") {
      const started = parseStart(said);
      if (started === undefined) return redact(failureOf(said, result));
      if (await store.run(id, started, AbortSignal.timeout(CLEAN_UP_WITHIN_MS))) return undefined;
    }
    // Whether it runs is not known, and a job that nobody knows of must not.
    await endJob(
      { control, clock },
      { id, root: undefined, graceMs: 0 },
      AbortSignal.timeout(CLEAN_UP_WITHIN_MS),
    );
    const fate = result.ended === "exited" ? "given up by another process" : result.ended;
    return [`the start was ${fate}`, ...result.notices].join(". ");
  }

  async function forgetOld(signal: AbortSignal): Promise<void> {
    const folders = (await store.prune(signal)).flatMap(({ folder }) => folder ?? []);
    if (folders.length > 0) await control.run(REMOVE, { fields: folders }, signal);
  }

  /** Looks at jobs that are not over and records what became of them. */
  async function observe(jobs: readonly JobRecord[], signal: AbortSignal): Promise<void> {
    for (const job of jobs) {
      if (job.state !== "starting" || clock.now() - job.startedAt < START_ABANDONED_MS) continue;
      await endJob({ control, clock }, { id: job.id, root: undefined, graceMs }, signal);
      await store.end(job.id, { reason: "failed_start", exitCode: undefined }, signal);
    }
    const fields = jobs.flatMap(({ id, state, folder, process, killRequested }) => {
      if (state !== "running" || process === undefined || folder === undefined) return [];
      const { bootId, pid, startTime, keeperPid, keeperStartTime } = process;
      return [id, folder, Number(killRequested), bootId, pid, startTime, keeperPid, keeperStartTime];
    });
    if (fields.length === 0) return;
    const text = (await control.run(OBSERVE, { fields }, signal)).toString("utf8");
    for (const [, id = "", state, code] of text.matchAll(/^(proc_\w+) (exited|gone)(?: (-?\d+))?$/gm)) {
      const wasKilled = jobs.some((job) => job.id === id && job.killRequested);
      if (state === "exited") await store.end(id, { reason: "exited", exitCode: Number(code) }, signal);
      else if (wasKilled) await store.end(id, { reason: "killed", exitCode: KILLED_EXIT_CODE }, signal);
      else await store.end(id, { reason: "lost", exitCode: UNKNOWN_EXIT_CODE }, signal);
    }
  }

  function require(id: string): JobRecord {
    const [, hex] = /^(?:proc_)?([0-9a-f]{4,12})$/.exec(id) ?? [];
    const [job, other] = hex === undefined ? [] : store.findByPrefix(`proc_${hex}`);
    if (job === undefined || other !== undefined)
      throw new AppError("job-not-found", `there is no job ${id}`);
    return job;
  }

  async function look(id: string, signal: AbortSignal): Promise<JobRecord> {
    const job = require(id);
    await observe([job], signal);
    return require(job.id);
  }

  async function log(
    id: string,
    { offset, limit = PAGE_LINES }: { offset?: number; limit?: number },
    signal: AbortSignal,
  ): Promise<LogPage> {
    // The state comes first: a job that is over by now prints nothing after the page is read.
    const job = await look(id, signal);
    if (job.folder === undefined)
      return { job, text: "", offset: 0, totalLines: 0, totalBytes: 0, isCut: false };
    const fields = [job.folder, offset ?? "", limit, PAGE_BYTES + 1];
    const output = await control.run(LOG, { fields, timeoutMs: LOG_WITHIN_MS }, signal);
    const headEnd = output.indexOf("\n");
    const [, lines, size] = /^(\d+) (\d+)$/.exec(output.toString("latin1", 0, Math.max(headEnd, 0))) ?? [];
    if (lines === undefined)
      throw new AppError("job-unreachable", `the output of ${job.id} is not there any more`);
    const body = output.subarray(headEnd + 1);
    const isCut = body.length > PAGE_BYTES;
    const isTail = offset === undefined;
    const shown = isTail ? body.subarray(-PAGE_BYTES) : body.subarray(0, PAGE_BYTES);
    const totalLines = Number(lines);
    const first = offset ?? Math.max(0, totalLines - limit);
    const sawEnd = isTail || (!isCut && first + limit >= totalLines);
    if (job.state === "ended" && sawEnd) await store.claimNotice(job.id, signal);
    return {
      job,
      text: redact(textOf(shown, isCut)),
      offset: first,
      totalLines,
      totalBytes: Number(size),
      isCut,
    };
  }

  async function wait(id: string, timeoutMs: number, signal: AbortSignal): ReturnType<Jobs["wait"]> {
    const { id: whole } = require(id);
    const endsAt = clock.now() + timeoutMs;
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * LOOK_GROWTH, LOOK_LAST_MS)) {
      try {
        const job = await look(whole, signal);
        if (job.state === "ended") {
          await store.claimNotice(whole, signal);
          return { kind: "ended", job };
        }
        const leftMs = endsAt - clock.now();
        if (leftMs <= 0) return { kind: "timed-out", job };
        await clock.sleep(Math.min(pauseMs, leftMs), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        return { kind: "interrupted", job: require(whole) };
      }
    }
  }

  async function input(
    id: string,
    program: string,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<InputOutcome> {
    const job = await look(id, signal);
    if (job.state !== "running" || job.folder === undefined) return "ended";
    // Small parts travel with the command itself; a stream of its own would use up a channel each time.
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
    const job = await look(id, signal);
    const { process } = job;
    const wasOver = job.state === "ended";
    await store.requestKill(job.id, signal);
    const { found, survivors } = await endJob(
      { control, clock },
      { id: job.id, root: wasOver ? undefined : process, graceMs },
      signal,
    );
    const [survivor] = survivors;
    if (survivor === undefined) {
      if (wasOver && found === 0) return { kind: "already-ended", job, survivors };
      await store.end(job.id, { reason: "killed", exitCode: KILLED_EXIT_CODE }, signal);
      await store.claimNotice(job.id, signal); // whoever kills it knows
      return { kind: "killed", job: require(job.id), survivors };
    }
    if (process !== undefined) {
      // It stays listed for as long as a part of it lives.
      const { pid, startTime } = survivor;
      const followed: JobProcess = { ...process, pid, startTime };
      await store.follow(job.id, { ...followed, keeperPid: pid, keeperStartTime: startTime }, signal);
    }
    return {
      kind: "survived",
      job: require(job.id),
      survivors: survivors.map(({ pid, user }) => ({ pid, user })),
    };
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
      const job = await look(id, signal);
      const bytes =
        job.folder === undefined
          ? Buffer.alloc(0)
          : await control.run(TAIL, { fields: [job.folder, PREVIEW_CHARS * 4] }, signal);
      const preview = redact(textOf(bytes, true)).slice(-PREVIEW_CHARS);
      return { job, uptimeMs: (job.endedAt ?? clock.now()) - job.startedAt, preview };
    },
    write: (id, bytes, signal) => input(id, WRITE, Buffer.from(bytes), signal),
    submit: (id, line, signal) => input(id, WRITE, Buffer.from(`${line}\n`), signal),
    close: (id, signal) => input(id, CLOSE, Buffer.alloc(0), signal),
    async sweep(owner, over, signal) {
      const due = (job: JobRecord): boolean =>
        job.owner === owner &&
        job.state !== "ended" &&
        (job.lifetime === "turn" || (job.lifetime === "session" && over === "session"));
      const outcomes: KillOutcome[] = [];
      for (const job of store.list().filter(due)) outcomes.push(await kill(job.id, signal));
      return outcomes;
    },
    async takeCompletions(owner, signal) {
      await observe(
        store.list().filter((job) => job.owner === owner && job.notify),
        signal,
      );
      return store.claimNotices(owner, signal);
    },
  };
}

/** Bytes as text; a character that a cut has split is left out. */
function textOf(bytes: Buffer, isCut: boolean): string {
  if (!isCut) return bytes.toString("utf8");
  return bytes.toString("utf8", leftoverBytes(bytes), bytes.length - unfinishedBytes(bytes));
}

function failureOf(said: string, { badWorkdir, exitCode }: CommandResult): string {
  if (badWorkdir) return "the folder does not exist";
  return /^failed (.*)/s.exec(said)?.[1]?.trim() || `the shell ended with exit code ${exitCode}`;
}

/** What the start program printed; undefined unless the job runs. */
function parseStart(
  said: string,
): { readonly process: JobProcess; readonly folder: string; readonly cwd: string } | undefined {
  const [, pid, startTime, keeperPid, keeperStartTime, bootId] =
    /^(\d+) (\d+) (\d+) (\d+) (\S+)$/m.exec(said) ?? [];
  const [, folder, cwd] = /^(\/.*\/proc_[0-9a-f]{12})\n(\/.*)\n$/ms.exec(said) ?? [];
  if (startTime === undefined || keeperStartTime === undefined || bootId === undefined) return undefined;
  if (folder === undefined || cwd === undefined) return undefined;
  return {
    process: { bootId, pid: Number(pid), startTime, keeperPid: Number(keeperPid), keeperStartTime },
    folder,
    cwd,
  };
}
