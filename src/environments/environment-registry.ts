import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/time/clock.ts";
import { waitAtMost } from "../lib/time/wait-at-most.ts";
import type { Environment } from "./environment.ts";
import { type EnvironmentRequest, SHARED_TASK } from "./environment-request.ts";
import { createClosedError, createSharedEnvironment, type SharedEnvironment } from "./shared-environment.ts";

const SHORTEST_CHECK_MS = 1_000;
const LONGEST_CHECK_MS = 60_000;
const TEARDOWN_MS = 15_000;

export interface EnvironmentRegistryParts {
  open(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment>;
  /**
   * Reclaims sandboxes that earlier processes abandoned. Called once per profile and backend, after the first command.
   * The registry waits for it when it closes. A failure goes to `onError` and does not affect any environment.
   */
  reclaimAbandoned(request: EnvironmentRequest): Promise<void>;
  /** Receives the errors of background work that no caller awaits. */
  onError(what: string, error: unknown): void;
  /** Its sleeps must not keep the process alive. */
  readonly clock?: Clock;
  /** How long the registry waits for each environment to close. */
  readonly teardownMs?: number;
}

/** The environments of a process. Each is opened once for all its holders and closed when it is no longer in use. */
export interface EnvironmentRegistry extends AsyncDisposable {
  /**
   * Returns a handle to the environment with that name and those settings. The environment stays open until all handles
   * are disposed and `lifetime_seconds` have passed since then.
   */
  acquire(request: EnvironmentRequest, signal: AbortSignal): Promise<Environment>;
}

/** The system clock; its sleeps do not keep the process alive. */
const backgroundClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }),
};

interface Entry {
  /** Closed because the process exits. The session has not ended: another process may resume it. */
  endsWithProcess: boolean;
  readonly task: string;
  readonly lifetimeMs: number;
  readonly shared: SharedEnvironment;
}

export function createEnvironmentRegistry({
  open,
  reclaimAbandoned,
  onError,
  clock = backgroundClock,
  teardownMs = TEARDOWN_MS,
}: EnvironmentRegistryParts): EnvironmentRegistry {
  const entries = new Map<string, Entry>();
  const reclaims = new Map<string, Promise<void>>();
  /** Includes the teardowns that the reaper started: the process must not exit before they end. */
  const teardowns = new Map<Promise<void>, Entry>();
  const stop = new AbortController();
  let isReaping = false;
  let closing: Promise<void> | undefined;

  function enter(key: string, request: EnvironmentRequest): Entry {
    const { task, options } = request;
    // Only one session or task uses this sandbox, and its files are not kept: an unused one can be removed.
    const isEphemeral = task !== SHARED_TASK && !options.container_persistent;
    const lifetimeMs = options.lifetime_seconds * 1_000;
    const entry: Entry = {
      endsWithProcess: false,
      task,
      lifetimeMs,
      shared: createSharedEnvironment({
        lifetimeMs,
        clock,
        open: (signal) =>
          open({ ...request, mayRemove: () => isEphemeral && !entry.endsWithProcess }, signal),
        onRun: () => reclaimOnce(request),
        onUnused: () => {
          if (entry.shared.isExpired()) retire(key, entry);
        },
      }),
    };
    entries.set(key, entry);
    void reap().catch((error) => onError("Unused environments are no longer closed.", error));
    return entry;
  }

  function reclaimOnce(request: EnvironmentRequest): void {
    const key = JSON.stringify([request.profile.home, request.options.backend]);
    if (reclaims.has(key)) return;
    const reclaim = reclaimAbandoned(request).catch((error: unknown) =>
      onError("Abandoned sandboxes could not be reclaimed.", error),
    );
    reclaims.set(key, reclaim);
  }

  /** Removes the entry at once, so that it is not handed out again, and closes it in the background. */
  function retire(key: string, entry: Entry): void {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    const teardown: Promise<void> = entry.shared
      .close()
      .catch((error) => onError(`The environment ${entry.task} could not be closed.`, error))
      .finally(() => teardowns.delete(teardown));
    teardowns.set(teardown, entry);
  }

  async function reap(): Promise<void> {
    if (isReaping) return;
    isReaping = true;
    try {
      while (entries.size > 0) {
        const shortest = Math.min(...[...entries.values()].map(({ lifetimeMs }) => lifetimeMs));
        const checkMs = Math.max(SHORTEST_CHECK_MS, Math.min(LONGEST_CHECK_MS, shortest));
        await clock.sleep(checkMs, stop.signal);
        for (const [key, entry] of entries) if (entry.shared.isExpired()) retire(key, entry);
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      isReaping = false;
    }
  }

  async function waitForTeardown(teardown: Promise<void>, { task }: Entry): Promise<void> {
    await waitAtMost(teardownMs, teardown);
    if (!teardowns.has(teardown)) return;
    const late = new Error(`it did not close within ${teardownMs / 1_000} s`);
    onError(`The environment ${task} could not be closed.`, late);
  }

  async function close(): Promise<void> {
    stop.abort(createClosedError());
    for (const [key, entry] of entries) {
      entry.endsWithProcess = true;
      retire(key, entry);
    }
    await Promise.allSettled([...teardowns].map(([teardown, entry]) => waitForTeardown(teardown, entry)));
    await Promise.all(reclaims.values());
  }

  return {
    async acquire(request, signal) {
      signal.throwIfAborted();
      if (stop.signal.aborted) throw createClosedError();
      const { profile, task, cwd, options } = request;
      const key = JSON.stringify([profile.home, task, cwd, options]);
      const entry = entries.get(key) ?? enter(key, request);
      return entry.shared.openHandle(signal);
    },
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
