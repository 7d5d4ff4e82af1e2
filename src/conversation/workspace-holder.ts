import { z } from "zod";
import type { Environment, SavedShell, ShellSession } from "../environments/environment.ts";
import type { EnvironmentRegistry } from "../environments/environment-registry.ts";
import {
  type EnvironmentRequest,
  environmentKey,
  type Reporter,
} from "../environments/environment-request.ts";
import type { JobRecord } from "../environments/jobs/job.ts";
import type { ProfileJobs } from "../environments/jobs/open-profile-jobs.ts";
import { messageOf } from "../lib/errors.ts";
import { shorten } from "../lib/shorten.ts";
import type { Workspace } from "../tools/workspace.ts";

const SWEEP_WITHIN_MS = 15_000;
const RESTORE_WITHIN_MS = 30_000;
const SHOWN_CHARS = 60;

export interface WorkspaceHolder extends AsyncDisposable {
  /** Opens the place when it is first asked for; a failure is forgotten, so that the next call tries again. */
  workspace(signal: AbortSignal): Promise<Workspace>;
  /** Opens the shell ahead of the first command, in a place that is there already. Never fails. */
  warm(): void;
  /** Begins to give the place back at the end of a turn; the shell's folder and variables stay with the session. */
  rest(): void;
  /** The state of the shell as text, for the next process; undefined until a command has run. */
  saveShell(): string | undefined;
}

export interface WorkspaceParts {
  readonly environments: EnvironmentRegistry;
  readonly request: EnvironmentRequest;
  /** What `saveShell` of an earlier process gave. */
  readonly savedShell: string | undefined;
  /** Hears, in a sentence, what of the earlier process could not be restored. */
  onLoss(sentence: string): void;
  /** The session, as jobs know their owner. */
  readonly session: string;
  redact(text: string): string;
  /** Whether a session is still known; jobs of those that are not have nobody who will ask for them. */
  isKnown(session: string): boolean;
}

/** The place of one session. No sandbox is made for a conversation that never runs anything. */
export function createWorkspaceHolder(parts: WorkspaceParts): WorkspaceHolder {
  const { environments, redact, isKnown } = parts;
  const reporter = createHeldReporter(parts.request.reporter);
  const request: EnvironmentRequest = { ...parts.request, reporter };
  const place = environmentKey(request);
  let environment: Environment | undefined;
  let session: ShellSession | undefined;
  let records: ProfileJobs | undefined;
  let warming: { readonly stop: AbortController; readonly over: Promise<void> } | undefined;
  let resting: Promise<void> | undefined;

  const jobs = retrying(async (signal) => {
    const { openProfileJobs } = await import("../environments/jobs/open-profile-jobs.ts");
    if (environment === undefined) throw new Error("the jobs of a place are asked of the place");
    records ??= await openProfileJobs(request, redact, signal);
    return records.jobsOf(environment);
  });

  /** Whoever has to do with jobs ends those that have outlived their session or their time, in this place. */
  async function sweepJobs(): Promise<void> {
    const opened = await jobs.opened();
    const deadline = AbortSignal.timeout(SWEEP_WITHIN_MS);
    try {
      await opened?.sweepExpired((owner) => (isKnown(owner) ? "in-turn" : "gone"), deadline);
      if (records?.last) tellOfJobs((await opened?.list(deadline)) ?? []);
    } catch (error) {
      const why = messageOf(error);
      reporter.onNotice(`Jobs without a session were not ended, a later session tries again: ${why}`);
    }
  }

  /** Nobody should find out by a taken port that something still runs. */
  function tellOfJobs(all: readonly JobRecord[]): void {
    const running = all.filter(({ owner, state }) => owner === parts.session && state !== "ended");
    for (const { id, command } of running) {
      const [line = ""] = redact(command).split("\n");
      const shown = shorten(line, SHOWN_CHARS);
      reporter.onNotice(
        `${id} still runs in the background: ${shown}\n  End it with \`hermes sandbox jobs kill ${id}\`.`,
      );
    }
  }

  const open = retrying(async (signal) => {
    const [opened, { createEnvironmentFiles }, ripgrep] = await Promise.all([
      environments.acquire(request, signal),
      import("../environments/files/environment-files.ts"),
      request.options.backend === "local" ? ownRipgrep() : undefined,
    ]);
    environment = opened;
    return { opened, createEnvironmentFiles, ripgrep };
  });

  /** The session's shell: where the last process left it, as far as that is still there. */
  async function openShell(opened: Environment, signal: AbortSignal): Promise<ShellSession> {
    const saved = parseSaved(parts.savedShell);
    if (saved === undefined) return opened.openSession();
    if (saved.place !== place) {
      parts.onLoss(
        `Earlier commands of this session ran elsewhere (${saved.place}); their working folder and variables are not restored here (${place}).`,
      );
      return opened.openSession();
    }
    let shell = opened.openSession(saved);
    const probe = { command: ":", session: shell, timeoutMs: RESTORE_WITHIN_MS, onOutput: () => undefined };
    if ((await opened.run(probe, signal)).badWorkdir) {
      shell = opened.openSession({ ...saved, cwd: undefined });
      parts.onLoss(
        `The working folder of this session, ${saved.cwd}, is gone; commands start in the default folder instead.`,
      );
    }
    if (saved.withheld.length > 0) {
      const names = saved.withheld.join(", ");
      parts.onLoss(
        `These exported variables may hold secrets and were not stored, so they are not set: ${names}.`,
      );
    }
    if (saved.tooLong.length > 0) {
      const names = saved.tooLong.join(", ");
      parts.onLoss(`These exported variables are too long to keep, so they are not set: ${names}.`);
    }
    return shell;
  }

  const build = retrying(async (signal): Promise<Workspace> => {
    const { opened, createEnvironmentFiles, ripgrep } = await open.get(signal);
    session ??= await openShell(opened, signal);
    const files = createEnvironmentFiles(opened, session, { ripgrep });
    return { environment: opened, session, files, jobs: jobs.get };
  });

  async function letGo(): Promise<void> {
    warming?.stop.abort();
    await warming?.over;
    await open.opened();
    const left = environment;
    environment = undefined;
    open.forget();
    build.forget();
    await left?.[Symbol.asyncDispose]();
  }

  return {
    async workspace(signal) {
      reporter.release();
      await resting;
      const stopWarming = (): void => warming?.stop.abort();
      signal.addEventListener("abort", stopWarming);
      await warming?.over; // the shell that is being opened is there sooner than a second one
      signal.removeEventListener("abort", stopWarming);
      return build.get(signal);
    },
    warm() {
      if (warming !== undefined || (environment !== undefined && resting === undefined)) return;
      const stop = new AbortController();
      const over = Promise.resolve(resting)
        .then(() => open.get(stop.signal))
        .then(({ opened }) => opened.warm(stop.signal))
        .catch(() => reporter.drop()) // the first command tries again, and reports why it cannot run
        .finally(() => {
          warming = undefined;
        });
      warming = { stop, over };
    },
    rest() {
      if (records !== undefined) return; // jobs keep the place open that they run in
      resting = letGo()
        .catch((error: unknown) => reporter.onNotice(`The environment was not closed: ${messageOf(error)}`))
        .finally(() => {
          resting = undefined;
        });
    },
    saveShell() {
      const saved = session?.save(redact);
      return saved && JSON.stringify({ place, ...saved } satisfies StoredShell);
    },
    async [Symbol.asyncDispose]() {
      await resting;
      await sweepJobs();
      await letGo();
      records?.[Symbol.dispose]();
    },
  };
}

/** The shell with the environment it belongs to: its folders and variables mean nothing in another one. */
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
  tooLong: z.array(z.string()).default([]), // sessions of earlier versions have none
});

/** Undefined where nothing is stored, and for what another version of the program has stored differently. */
function parseSaved(text: string | undefined): StoredShell | undefined {
  return text === undefined ? undefined : storedShell.safeParse(JSON.parse(text)).data;
}

/** Holds notices back until the place is used: nobody wants to hear of a sandbox that no command needs. */
function createHeldReporter(reporter: Reporter): Reporter & { release(): void; drop(): void } {
  let held: string[] | undefined = [];
  const tell = (text: string): void => {
    if (held === undefined) reporter.onNotice(text);
    else held.push(text);
  };
  return {
    onNotice: tell,
    onProgress: (text) => (held === undefined ? reporter.onProgress(text) : tell(text)),
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

async function ownRipgrep(): Promise<string | undefined> {
  const { findBundledRipgrep } = await import("../environments/files/search/bundled-ripgrep.ts");
  return findBundledRipgrep();
}

/** Does something once for all who ask, and again for the next after a failure. */
function retrying<Result>(action: (signal: AbortSignal) => Promise<Result>): {
  readonly get: (signal: AbortSignal) => Promise<Result>;
  /** What there is, without doing it. */
  opened(): Promise<Result | undefined>;
  /** The next who asks has it done again. */
  forget(): void;
} {
  let attempt: Promise<Result> | undefined;
  return {
    get(signal) {
      attempt ??= action(signal).catch((error: unknown) => {
        attempt = undefined;
        throw error;
      });
      return attempt;
    },
    async opened() {
      return await attempt?.catch(() => undefined);
    },
    forget() {
      attempt = undefined;
    },
  };
}
