import type { JobRecord } from "../../environments/jobs/job.ts";

/** Polls the background jobs of a session while one of them is running. */
export interface JobWatch extends Disposable {
  /** Checks the jobs now, because a call may have started or ended some. */
  poll(): void;
}

export interface JobWatchParts {
  /** The jobs of the session with their current state. */
  list(signal: AbortSignal): Promise<readonly JobRecord[]>;
  /** `ended`: those that have ended since the last call. */
  onJobs(running: number, ended: readonly JobRecord[]): void;
}

/** Each poll runs a program in the environment. */
const POLL_EVERY_MS = 2_000;

export function createJobWatch({ list, onJobs }: JobWatchParts): JobWatch {
  const startedAt = Date.now();
  const stop = new AbortController();
  const reported = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let mustPollAgain = false;

  async function pollOnce(): Promise<void> {
    const jobs = await list(stop.signal);
    const running = jobs.filter(({ state }) => state !== "ended").length;
    const ended = jobs.filter(
      ({ id, endedAt = 0, reason }) => endedAt >= startedAt && reason !== "failed_start" && !reported.has(id),
    );
    for (const { id } of ended) reported.add(id);
    if (stop.signal.aborted) return;
    onJobs(running, ended);
    if (running > 0) timer = setTimeout(poll, POLL_EVERY_MS);
  }
  function poll(): void {
    clearTimeout(timer);
    if (stop.signal.aborted) return;
    mustPollAgain = polling !== undefined;
    // The next call that uses the environment reports its failure.
    polling ??= pollOnce()
      .catch(() => undefined)
      .finally(() => {
        polling = undefined;
        if (mustPollAgain) poll();
      });
  }
  return {
    poll,
    [Symbol.dispose]() {
      stop.abort();
      clearTimeout(timer);
    },
  };
}
