import type { JobRecord } from "../../environments/jobs/job.ts";

/** Follows the background jobs of a session, as long as one of them runs. */
export interface JobWatch extends Disposable {
  /** A call may have started or ended jobs. */
  look(): void;
}

export interface JobWatchParts {
  /** The jobs of the session with their current state. */
  list(signal: AbortSignal): Promise<readonly JobRecord[]>;
  /** `ended`: those that have ended since the last call. */
  onJobs(running: number, ended: readonly JobRecord[]): void;
}

/** Each look runs a program in the environment. */
const LOOK_EVERY_MS = 2_000;

export function createJobWatch({ list, onJobs }: JobWatchParts): JobWatch {
  const startedAt = Date.now();
  const stop = new AbortController();
  const reported = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isAskedAgain = false;

  async function lookOnce(): Promise<void> {
    const jobs = await list(stop.signal);
    const running = jobs.filter(({ state }) => state !== "ended").length;
    const ended = jobs.filter(
      ({ id, endedAt = 0, reason }) => endedAt >= startedAt && reason !== "failed_start" && !reported.has(id),
    );
    for (const { id } of ended) reported.add(id);
    if (stop.signal.aborted) return;
    onJobs(running, ended);
    if (running > 0) timer = setTimeout(look, LOOK_EVERY_MS);
  }
  function look(): void {
    clearTimeout(timer);
    if (stop.signal.aborted) return;
    isAskedAgain = looking !== undefined;
    // An environment that does not answer is reported by the next call that uses it.
    looking ??= lookOnce()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
        if (isAskedAgain) look();
      });
  }
  return {
    look,
    [Symbol.dispose]() {
      stop.abort();
      clearTimeout(timer);
    },
  };
}
