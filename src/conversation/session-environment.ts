import { z } from "zod";
import type { Environment, SavedShell, ShellSession } from "../environments/environment.ts";
import type { EnvironmentRegistry } from "../environments/environment-registry.ts";
import {
  type EnvironmentRequest,
  environmentKey,
  type Reporter,
  taskFlag,
} from "../environments/environment-request.ts";
import type { JobRecord } from "../environments/jobs/job.ts";
import type { ProfileJobs } from "../environments/jobs/open-profile-jobs.ts";
import { messageOf } from "../lib/errors.ts";
import { shorten } from "../lib/text/shorten.ts";
import type { OpenedEnvironment } from "../tools/tool-parts.ts";

const SWEEP_WITHIN_MS = 15_000;
const RESTORE_WITHIN_MS = 30_000;
const SHOWN_CHARS = 60;

export interface SessionEnvironment extends AsyncDisposable {
  /** Opens the environment on the first call; after a failure, the next call tries again. */
  open(signal: AbortSignal): Promise<OpenedEnvironment>;
  /** Opens the shell ahead of the first command if its sandbox or connection already exists. Never fails. */
  warm(): void;
  /** Starts releasing the environment at the end of a turn; the session keeps the shell's folder and variables. */
  startRelease(): void;
  /**
   * The background jobs of the session with their current state. Jobs that an earlier process started in a sandbox or on another
   * host are missing until a call uses a job, because looking for them could start a sandbox.
   */
  jobs(signal: AbortSignal): Promise<readonly JobRecord[]>;
  /** The working folder of the shell; before the first command, the folder in which the shell will start. */
  cwd(): string;
  /** The state of the shell as text, for the next process; undefined until a command has run. */
  saveShell(): string | undefined;
}

export interface SessionEnvironmentParts {
  readonly environments: EnvironmentRegistry;
  readonly request: EnvironmentRequest;
  readonly isResumed: boolean;
  readonly savedShell: string | undefined;
  /** Called with one sentence per part of the earlier shell that could not be restored. */
  onLoss(sentence: string): void;
  /** The session id, which is the owner of its jobs. */
  readonly session: string;
  redact(text: string): string;
  /** Whether a session still exists; jobs of deleted sessions are ended. */
  isKnown(session: string): boolean;
}

/** Holds the environment of one session. A conversation that runs no command creates no sandbox. */
export function createSessionEnvironment(parts: SessionEnvironmentParts): SessionEnvironment {
  const { environments, redact, isKnown } = parts;
  const reporter = createHeldReporter(parts.request.reporter);
  const request: EnvironmentRequest = { ...parts.request, reporter };
  const ownKey = environmentKey(request);
  let environment: Environment | undefined;
  let session: ShellSession | undefined;
  let records: ProfileJobs | undefined;
  let warming: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  let releasing: Promise<void> | undefined;

  const jobs = shareResult(async (signal) => {
    const { openProfileJobs } = await import("../environments/jobs/open-profile-jobs.ts");
    if (environment === undefined) throw new Error("jobs were requested before the environment was opened");
    records ??= await openProfileJobs(request, redact, signal);
    return records.jobsOf(environment);
  });

  /** If this session used jobs, ends the jobs of this environment whose session was deleted or whose time is up. */
  async function sweepJobs(): Promise<void> {
    const opened = await jobs.opened();
    const deadline = AbortSignal.timeout(SWEEP_WITHIN_MS);
    try {
      await opened?.sweepExpired((owner) => (isKnown(owner) ? "in-turn" : "gone"), deadline);
      if (records?.jobsSurvive) reportRunningJobs((await opened?.list(deadline)) ?? []);
    } catch (error) {
      const why = messageOf(error);
      reporter.onNotice(`Jobs of deleted sessions were not ended; a later session tries again: ${why}`);
    }
  }

  /** Without this notice, users would first learn of a running job from a port that is in use. */
  function reportRunningJobs(all: readonly JobRecord[]): void {
    const running = all.filter((job) => isOwn(job) && job.state !== "ended");
    for (const { id, command } of running) {
      const shown = shorten(redact(command).split("\n", 1).join(""), SHOWN_CHARS);
      reporter.onNotice(
        `${id} is still running in the background: ${shown}\n  End it with \`hermes sandbox jobs kill ${id}${taskFlag(request.task)}\`.`,
      );
    }
  }

  let mayHaveJobs = parts.isResumed && request.options.backend === "local";
  const isOwn = ({ owner }: JobRecord): boolean => owner === parts.session;

  /** Whether a job of the session runs, according to the stored records. */
  async function isRecordedToRun(signal: AbortSignal): Promise<boolean> {
    const { openProfileJobs } = await import("../environments/jobs/open-profile-jobs.ts");
    using recorded = await openProfileJobs(request, redact, signal);
    return recorded.store.list().some((job) => isOwn(job) && job.state !== "ended");
  }

  const open = shareResult(async (signal) => {
    const [opened, { createEnvironmentFiles }, ripgrep] = await Promise.all([
      environments.acquire(request, signal),
      import("../environments/files/environment-files.ts"),
      request.options.backend === "local" ? findOwnRipgrep() : undefined,
    ]);
    environment = opened;
    return { opened, createEnvironmentFiles, ripgrep };
  });

  /** Opens the session's shell with the saved folder and variables, as far as they can be restored. */
  async function openShell(opened: Environment, signal: AbortSignal): Promise<ShellSession> {
    const saved = parseSaved(parts.savedShell);
    if (saved === undefined) return opened.openSession();
    if (saved.place !== ownKey) {
      parts.onLoss(
        `Earlier commands of this session ran in another environment (${saved.place}); their working folder and variables are not restored in this one (${ownKey}).`,
      );
      return opened.openSession();
    }
    let shell = opened.openSession(saved);
    const probe = { command: ":", session: shell, timeoutMs: RESTORE_WITHIN_MS, onOutput: () => undefined };
    if ((await opened.run(probe, signal)).badWorkdir) {
      shell = opened.openSession({ ...saved, cwd: undefined });
      parts.onLoss(
        `The working folder of this session, ${saved.cwd}, no longer exists; commands start in the default folder instead.`,
      );
    }
    const reportUnset = (names: readonly string[], why: string): void => {
      if (names.length > 0)
        parts.onLoss(`These exported variables ${why}, so they are not set: ${names.join(", ")}.`);
    };
    reportUnset(saved.withheld, "may hold secrets and were not stored");
    reportUnset(saved.tooLong, "are too long to store");
    return shell;
  }

  const build = shareResult(async (signal): Promise<OpenedEnvironment> => {
    const { opened, createEnvironmentFiles, ripgrep } = await open.get(signal);
    session ??= await openShell(opened, signal);
    const files = createEnvironmentFiles(opened, session, { ripgrep });
    return { environment: opened, session, files, jobs: jobs.get };
  });

  async function releaseEnvironment(): Promise<void> {
    warming?.stop.abort();
    await warming?.done;
    await open.opened();
    const released = environment;
    environment = undefined;
    open.forget();
    build.forget();
    await released?.[Symbol.asyncDispose]();
  }

  return {
    async open(signal) {
      reporter.release();
      await releasing;
      const stopWarming = (): void => warming?.stop.abort();
      signal.addEventListener("abort", stopWarming);
      await warming?.done; // a shell that is being opened is ready sooner than a new one
      signal.removeEventListener("abort", stopWarming);
      return build.get(signal);
    },
    warm() {
      if (warming !== undefined || (environment !== undefined && releasing === undefined)) return;
      const stop = new AbortController();
      const done = Promise.resolve(releasing)
        .then(() => open.get(stop.signal))
        .then(({ opened }) => opened.warm(stop.signal))
        .catch(() => reporter.drop()) // the first command tries again and reports the failure
        .finally(() => {
          warming = undefined;
        });
      warming = { stop, done };
    },
    startRelease() {
      if (records !== undefined) return; // jobs keep their environment open
      releasing = releaseEnvironment()
        .catch((error: unknown) => reporter.onNotice(`The environment was not closed: ${messageOf(error)}`))
        .finally(() => {
          releasing = undefined;
        });
    },
    async jobs(signal) {
      if ((await jobs.opened()) === undefined) {
        mayHaveJobs &&= await isRecordedToRun(signal);
        if (!mayHaveJobs) return [];
        await releasing;
        await open.get(signal);
      }
      return (await (await jobs.get(signal)).list(signal)).filter(isOwn);
    },
    cwd: () => session?.cwd ?? parseSaved(parts.savedShell)?.cwd ?? request.cwd,
    saveShell() {
      const saved = session?.save(redact);
      return saved && JSON.stringify({ place: ownKey, ...saved } satisfies StoredShell);
    },
    async [Symbol.asyncDispose]() {
      await releasing;
      await sweepJobs();
      await releaseEnvironment();
      records?.[Symbol.dispose]();
    },
  };
}

/** A shell with the key of its environment: its folder and variables are meaningless in another environment. */
interface StoredShell extends SavedShell {
  readonly place: string;
}

const storedShell = z.object({
  place: z.string(),
  cwd: z.string().optional(),
  previousCwd: z.string().optional(),
  variables: z.record(z.string(), z.string()),
  unset: z.array(z.string()),
  withheld: z.array(z.string()),
  tooLong: z.array(z.string()).default([]), // absent in sessions of earlier versions
});

/** Undefined if nothing is stored, or only a format of another version of the program. */
function parseSaved(text: string | undefined): StoredShell | undefined {
  return text === undefined ? undefined : storedShell.safeParse(JSON.parse(text)).data;
}

/** Delays notices until a command uses the environment: notices about an unused sandbox are noise. */
function createHeldReporter(reporter: Reporter): Reporter & { release(): void; drop(): void } {
  let held: string[] | undefined = [];
  const holdOrReport = (text: string): void => {
    if (held === undefined) reporter.onNotice(text);
    else held.push(text);
  };
  return {
    onNotice: holdOrReport,
    onProgress: (text) => (held === undefined ? reporter.onProgress(text) : holdOrReport(text)),
    release() {
      const notices = held ?? [];
      held = undefined;
      for (const notice of notices) reporter.onNotice(notice);
    },
    drop() {
      held &&= [];
    },
  };
}

async function findOwnRipgrep(): Promise<string | undefined> {
  const { findBundledRipgrep } = await import("../environments/files/search/bundled-ripgrep.ts");
  return findBundledRipgrep();
}

/** Runs an action once and shares its result; after a failure, the next caller runs it again. */
function shareResult<Result>(action: (signal: AbortSignal) => Promise<Result>) {
  let attempt: Promise<Result> | undefined;
  return {
    get(signal: AbortSignal): Promise<Result> {
      attempt ??= action(signal).catch((error: unknown) => {
        attempt = undefined;
        throw error;
      });
      return attempt;
    },
    /** The result of a started action; undefined if it was not started or failed. */
    opened: async (): Promise<Result | undefined> => attempt?.catch(() => undefined),
    /** Makes the next caller run the action again. */
    forget(): void {
      attempt = undefined;
    },
  };
}
